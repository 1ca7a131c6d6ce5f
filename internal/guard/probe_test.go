package guard

import (
	"errors"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/script"
)

// Servers say in several ways that a command is forbidden for good. Everything else
// passes, or is about a key.
func TestOnlyARefusedCommandCountsAsRefused(t *testing.T) {
	for said, want := range map[string]bool{
		"ERR The user executing the script can't run this command or subcommand":                             true, // 6.0 to 7.0, in a script
		"ERR ACL failure in script: User locker has no permissions to run the 'del' command":                 true, // since 7.2
		"NOPERM this user has no permissions to run the 'evalsha' command":                                   true,
		"NOPERM User locker has no permissions to run the 'evalsha' command":                                 true,
		"@user_script: 7: Unknown Redis command called from Lua script":                                      true, // before 7.0
		"ERR Unknown Redis command called from script":                                                       true,
		"ERR unknown command 'EVALSHA', with args beginning with: 'f00'":                                     true,
		"ERR The user executing the script can't access at least one of the keys mentioned in the command":   false,
		"ERR ACL failure in script: User locker has no permissions to access the 'redquorum:intent:1:x' key": false,
		"NOPERM this user has no permissions to access one of the keys used as arguments":                    false,
		"OOM command not allowed when used memory > 'maxmemory'.":                                            false,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":             false,
	} {
		r, _ := Refused{}.ReadProbe([]any{[]byte("DEL"), []byte(said)}, nil, nil)
		if got := r.Commands.String() == "DEL" && r.Err != nil; got != want {
			t.Errorf("DEL: %q: refused %q (%v), want %t", said, r.Commands, r.Err, want)
		}
		r, _ = Refused{}.ReadProbe([]any{}, nil, errors.New(said))
		if got := r.Commands.String() == "EVALSHA"; got != want {
			t.Errorf("EVALSHA: %q: refused %q, want %t", said, r.Commands, want)
		}
	}
}

// An unusable answer changes nothing; a good one replaces what is known.
func TestACommandThatIsPermittedAgainIsNotRefused(t *testing.T) {
	r, _ := Refused{}.ReadProbe([]any{[]byte("DEL"), []byte("ERR Unknown Redis command called from script")}, nil, nil)
	if again, ok := r.ReadProbe(nil, errors.New("BUSY"), errors.New("BUSY")); ok || again != r || again.Lacking(vital) == nil {
		t.Errorf("after no answer: %v", again.Commands)
	}
	if again, _ := r.ReadProbe([]any{}, nil, nil); again.Lacking(vital) != nil {
		t.Errorf("after a good answer: %v", again.Commands)
	}
}

func TestUserThatMaySetButNotGetTheProbeKeyIsRefusedGET(t *testing.T) {
	const said = "ERR The user executing the script can't access at least one of the keys mentioned in the command"
	for want, failed := range map[string][]string{"GET": {"GET", "PTTL"}, "": {"GET", "SET"}} {
		var reply []any
		for _, name := range failed {
			reply = append(reply, []byte(name), []byte(said))
		}
		if r, _ := (Refused{}).ReadProbe(reply, nil, nil); r.Commands.String() != want {
			t.Errorf("%q fail: refused %q, want %q", failed, r.Commands, want)
		}
	}
}

// The probe writes nothing, and finds nothing wrong with a master that permits all.
func TestTheProbeWritesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		before := m.do("DBSIZE")
		reply := m.do("EVAL", Probe.EvalArgs(Probe.Args(nil, nil, "1"))...)
		if failed, ok := reply.([]any); !ok || len(failed) != 0 {
			t.Errorf("it found %q", reply)
		}
		if after := m.do("DBSIZE"); after != before {
			t.Errorf("the master had %v keys and has %v", before, after)
		}
	})
}

// A command that a lock's script calls and the probe does not try would have no bit.
func TestTheProbeTriesEveryCommandThatTheScriptsOfLocksCall(t *testing.T) {
	if got := vital.String(); got != "DEL, GET, PEXPIRE, PTTL, SET, EVALSHA, EVAL" {
		t.Errorf("every lock needs %s", got)
	}
	if strict := CommandsOf([]*script.Script{script.GuardedReaderAcquire, script.GuardedReaderExtend, script.GuardedRelease}); strict&vital == 0 || strict == vital {
		t.Errorf("a reader in strict needs %s", strict)
	}
}

func TestAUserWithoutAnyScriptingIsToldOfEVAL(t *testing.T) {
	for said, refused := range map[string]bool{
		"NOPERM this user has no permissions to run the 'eval' command":    true,
		"ERR unknown command 'EVAL', with args beginning with: 'if'":       true,
		"ERR EVAL is not supported by this service":                        true,
		"ERR Error running script (call to f_0123): user_script:1: broken": false,
		"BUSY Redis is busy running a script.":                             false,
	} {
		r, ok := Refused{}.ReadProbe(nil, errors.New(said), errors.New(said))
		why := r.Lacking(vital)
		if ok != refused || (why != nil) != refused || refused && !strings.Contains(why.Error(), "it refuses EVAL") {
			t.Errorf("%s: %v, an answer: %v", said, why, ok)
		}
	}
}
