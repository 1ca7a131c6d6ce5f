package model

// A state is one word a master and one for all clients; see layout for the
// bits of a master's.
type state struct {
	masters [maxMasters]word
	clients word
}

// A word is 64 bits of fields.
type word uint64

// A field is some bits of a word.
type field struct{ shift, bits uint8 }

func (f field) get(w word) int { return int(w >> f.shift & (1<<f.bits - 1)) }

func (f field) set(w *word, v int) {
	*w = *w&^((1<<f.bits-1)<<f.shift) | word(v)<<f.shift
}

// What a master keeps.
var (
	fOwner    = field{0, 3} // token of the key; 0: there is none
	fKey      = timer{field{3, 4}, field{7, 2}, field{9, 1}}
	fQuar     = timer{field{10, 4}, field{14, 2}, field{16, 1}}
	fPerOwner = uint8(17) // from here on: a group of fields for each client
)

// A timer runs on a master's clock.
type timer struct {
	left field // ticks; 0: it is not running
	fast field // ticks by which the clock may still gain
	slow field // ticks by which it may still fall behind
}

// Of each client on a master: what it knows of the master, and what is on its
// way there.
const (
	voteBits    = 2
	commandBits = 3
)

// What a client has heard of a master in the round that is under way.
const (
	noVote  = iota // nothing yet
	agreed         // an OK that counts
	void           // an answer that does not count, or none to come
	refused        // the key is another's: it has nothing of ours, and need not be told of the end
)

// Commands under way: a verb and the age of its token. 0: no command.
const (
	cmdSet = iota + 1
	cmdExtend
	cmdRelease
)

type command uint8

func newCommand(verb, age int) command { return command(verb<<1 | age) }

func (c command) verb() int { return int(c >> 1) }
func (c command) age() int  { return int(c & 1) }

// A token belongs to a client and is that of its latest attempt (age 0) or of
// the one before (age 1). As a number it is never 0.
func newToken(client, age int) int { return 1 + client<<1 + age }

func tokenClient(token int) int { return (token - 1) >> 1 }
func tokenAge(token int) int    { return (token - 1) & 1 }

// Fields of one client in the clients' word; clientField moves them.
var (
	fPhase      = field{0, 2}
	fAttempts   = field{2, 2} // made so far; not counted if any number is allowed
	fExtensions = field{4, 2} // of the present hold; likewise
	fElapsed    = field{6, 4} // since the round under way started
	fLeft       = field{10, 4}
	fExtending  = field{14, 1} // an extension is under way
	fExtended   = field{15, 1} // there was one in this hold

	clientBits = uint8(16)

	fRestarts = field{48, 2}
	fStrays   = field{50, 2}
)

// What a client is doing.
const (
	idle = iota
	acquiring
	holding
)

func clientField(f field, client int) field {
	f.shift += uint8(client) * clientBits
	return f
}

func (s *state) client(f field, client int) int { return clientField(f, client).get(s.clients) }

func (s *state) setClient(f field, client, v int) { clientField(f, client).set(&s.clients, v) }

// A layout says where in a master's word the fields of each client are. The
// fewer clients there are, the more commands may be under way.
type layout struct {
	vote, stray [maxClients]field
	queue       [maxClients]field
	room        int // commands that fit into a queue
}

func newLayout(clients int) layout {
	var l layout
	group := (64 - fPerOwner) / uint8(clients)
	l.room = int(group-voteBits-commandBits) / commandBits
	l.room = min(l.room, 6)
	for i := range clients {
		at := fPerOwner + uint8(i)*group
		l.vote[i] = field{at, voteBits}
		l.stray[i] = field{at + voteBits, commandBits}
		l.queue[i] = field{at + voteBits + commandBits, uint8(l.room) * commandBits}
	}
	return l
}

// A queue of commands is a number whose lowest digit, to the base 8, is the
// first of them.
func queueLen(q int) (n int) {
	for ; q != 0; q >>= commandBits {
		n++
	}
	return n
}

func queueHead(q int) command { return command(q & (1<<commandBits - 1)) }

func queueAppend(q int, c command) int { return q | int(c)<<(commandBits*queueLen(q)) }

// queueHas reports whether the command is in the queue.
func queueHas(q int, c command) bool {
	for ; q != 0; q >>= commandBits {
		if queueHead(q) == c {
			return true
		}
	}
	return false
}

// queueAge makes every command in it one of the attempt before.
func queueAge(q int) (aged int) {
	for i := 0; q != 0; q, i = q>>commandBits, i+commandBits {
		aged |= int(queueHead(q)|1) << i
	}
	return aged
}
