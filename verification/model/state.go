package model

// A state is one word for each master and one for all clients. See layout for the bits of
// a master's word.
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

// A master's word has these bits for each client: a vote and, in a queue, some commands.
const (
	voteBits    = 2
	commandBits = 3
)

// A vote is what a client knows of a master's answer in the current round.
const (
	noVote  = iota // nothing yet
	agreed         // an OK that counts
	void           // an answer that does not count, or no answer will come
	refused        // another owner has the key: the master has nothing of ours and needs no release
)

// A command on its way is one of these verbs and the age of its token; 0: no command.
const (
	cmdSet = iota + 1
	cmdExtend
	cmdRelease
)

type command uint8

func newCommand(verb, age int) command { return command(verb<<1 | age) }

func (c command) verb() int { return int(c >> 1) }
func (c command) age() int  { return int(c & 1) }

// A token belongs to a client, and to its latest attempt (age 0) or the attempt before
// (age 1). As a number it is never 0.
func newToken(client, age int) int { return 1 + client<<1 + age }

func tokenClient(token int) int { return (token - 1) >> 1 }
func tokenAge(token int) int    { return (token - 1) & 1 }

// Fields of client 0 in the clients' word; clientField shifts them for the others.
var (
	fPhase      = field{0, 2}
	fAttempts   = field{2, 2} // made so far; not counted if any number is allowed
	fExtensions = field{4, 2} // of the present hold; likewise
	fElapsed    = field{6, 4} // since the current round started
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

// A queue of commands is a number in base 8. Its lowest digit is the first command.
func queueLen(q int) (n int) {
	for ; q != 0; q >>= commandBits {
		n++
	}
	return n
}

func queueHead(q int) command { return command(q & (1<<commandBits - 1)) }

func queueAppend(q int, c command) int { return q | int(c)<<(commandBits*queueLen(q)) }

func queueHas(q int, c command) bool {
	for ; q != 0; q >>= commandBits {
		if queueHead(q) == c {
			return true
		}
	}
	return false
}

// queueAge gives every command in the queue the age 1: it belongs to the attempt before.
func queueAge(q int) (aged int) {
	for i := 0; q != 0; q, i = q>>commandBits, i+commandBits {
		aged |= int(queueHead(q)|1) << i
	}
	return aged
}
