/*
 * Fencing tokens by quorum: are they unique, and do they rise?
 *
 * Three masters keep a lock and a fence, the highest value they have given.
 * An attempt proposes a floor, so that masters usually give the same value;
 * each master that grants gives max(stored + 1, floor). The token is the
 * highest value that was given. Where a quorum does not store it yet, the
 * attempt raises the others, by compare-and-set: only where it still owns the
 * lock and the fence is still the value that it was given.
 *
 * The lock may expire at any instant on any master, so nothing here rests on
 * mutual exclusion: several attempts may have a quorum at once. Answers may be
 * lost, and a command may be executed late, or twice.
 *
 * Checked whenever an attempt has its token (invariant S8): nobody else has the
 * same, and it is above every token that was complete when the attempt began.
 *
 * Switches (scripts/spin.sh sets them):
 *   ATTEMPTS        2 or 3
 *   STRAYS          late or second executions of an attempt's command
 *   RESET           holders set the lock again where it expired, with their fence
 *   RAISE_IF_OWNER  mistake: raise wherever the lock is still owned
 *   NO_RAISE        mistake: take the highest value for stored
 *   AMNESIA         masters that may lose their data, together. Then they do
 *                   not vote for Q ticks, floors are read from clocks that
 *                   differ by SKEW, and an attempt takes TIMEOUT at the most
 *   NO_FLOOR        mistake, with AMNESIA: floors are 0, a plain counter
 */
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef STRAYS
#define STRAYS 1
#endif
#ifndef Q
#define Q 4
#endif
#ifndef SKEW
#define SKEW 1
#endif
#ifndef TIMEOUT
#define TIMEOUT 1
#endif
#ifndef TICKS
#define TICKS (Q + 1)
#endif

#define NEED 2

byte owner[3];            /* the attempt that has the lock; 0: it is free */
byte fence[3];
byte token[ATTEMPTS + 1]; /* of those that have one */
byte highest;             /* of the tokens that are complete */

#ifdef AMNESIA
byte now;
byte until[3]; /* end of the quarantine; 0: there is none */
byte losses;
#define VOTES(i) (until[i] == 0)
#define IN_TIME (now <= start + TIMEOUT)
#define LOST_ANSWER(i) !VOTES(i) /* only these: the clocks are states enough */
#else
#define VOTES(i) true
#define IN_TIME true
#define LOST_ANSWER(i) true
#endif

/* What is of no use any more is cleared, so that equal situations are equal. */
#define CLEAR(a) a[0] = 0; a[1] = 0; a[2] = 0
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/*
 * The lock on a master may have expired whenever somebody looks; before that it
 * makes no difference. EXPIRY stands where a script looks.
 */
#define EXPIRY(i) if :: owner[i] != 0 -> owner[i] = 0 :: true fi

/* The script that acquires, on master i. v is what it returns; 0: taken. */
#define ACQUIRE(i) \
	EXPIRY(i); \
	if \
	:: owner[i] == 0 -> v = MAX(fence[i] + 1, floor); fence[i] = v; owner[i] = me \
	:: else -> v = 0 \
	fi

/* The command reaches the master; its answer comes back, or does not. */
#define ASK(i) \
	atomic { !asked[i] && IN_TIME -> \
		asked[i] = true; \
		ACQUIRE(i); \
		if :: VOTES(i) -> given[i] = v :: LOST_ANSWER(i) fi; \
		v = 0 }

/* A command that was held up, or is repeated: nobody waits for its answer. */
#define STRAY(i) \
	atomic { strays < STRAYS -> strays++; ACQUIRE(i); v = 0 }

#ifdef RAISE_IF_OWNER
#define RAISABLE(i) (owner[i] == me)
#else
#define RAISABLE(i) (owner[i] == me && fence[i] == given[i])
#endif

/* The second round, on a master that gave less than the token. */
#define RAISE(i) \
	atomic { given[i] > 0 && given[i] < t && !tried[i] && IN_TIME -> \
		tried[i] = true; \
		EXPIRY(i); \
		if \
		:: RAISABLE(i) -> \
			fence[i] = t; \
			if :: VOTES(i) -> stored++ :: true fi \
		:: else \
		fi }

/* An extension that sets the lock again where it is missing. */
#define SET_AGAIN(i) \
	atomic { owner[i] != me -> owner[i] = me; fence[i] = MAX(fence[i], t) }

#ifdef AMNESIA
#define FORGET CLEAR(given); CLEAR(asked); CLEAR(tried); before = 0; stored = 0; start = 0
#else
#define FORGET CLEAR(given); CLEAR(asked); CLEAR(tried); before = 0; stored = 0
#endif

proctype Attempt(byte me) {
	byte given[3]; /* values of the grants that count */
	bool asked[3], tried[3];
	byte floor, before, stored, strays, t, v;
#ifdef AMNESIA
	byte start;
#endif

	atomic {
		before = highest;
#ifdef AMNESIA
		start = now;
#ifdef NO_FLOOR
		floor = 0
#else
		if :: floor = now :: floor = now + SKEW fi
#endif
#else
		if :: floor = 0 :: floor = 2 fi /* 1 is no more than 0 */
#endif
	}

	do
	:: ASK(0) :: ASK(1) :: ASK(2)
	:: STRAY(0) :: STRAY(1) :: STRAY(2)
	:: break
	od;

	atomic {
		CLEAR(asked);
		t = MAX(MAX(given[0], given[1]), given[2]);
		if
		:: (given[0] > 0) + (given[1] > 0) + (given[2] > 0) >= NEED
		:: else -> goto over
		fi;
#ifdef NO_RAISE
		stored = NEED
#else
		stored = (given[0] == t) + (given[1] == t) + (given[2] == t)
#endif
	}

	do
	:: stored < NEED ->
		if
		:: RAISE(0) :: RAISE(1) :: RAISE(2)
		:: STRAY(0) :: STRAY(1) :: STRAY(2)
		:: goto over
		fi
	:: else -> break
	od;

	atomic {
		if :: IN_TIME :: else -> goto over fi;
		v = 1;
		do
		:: v <= ATTEMPTS -> assert(token[v] != t); v++
		:: else -> break
		od;
		v = 0;
		assert(t > before);
		token[me] = t;
		highest = MAX(highest, t);
		FORGET
	}

#ifdef RESET
end_held:
	do
	:: SET_AGAIN(0) :: SET_AGAIN(1) :: SET_AGAIN(2)
	:: STRAY(0) :: STRAY(1) :: STRAY(2)
	od;
#endif

over:
	atomic { FORGET; t = 0 };
end_over:
	do
	:: STRAY(0) :: STRAY(1) :: STRAY(2)
	od
}

#ifdef AMNESIA
#define LOSE(i) \
	atomic { losses < AMNESIA -> losses++; owner[i] = 0; fence[i] = 0; until[i] = now + Q }

#define PASSED(i) if :: until[i] == now -> until[i] = 0 :: else fi

active proctype Faults() {
end:
	do
	:: atomic { now < TICKS -> now++; PASSED(0); PASSED(1); PASSED(2) }
	:: LOSE(0) :: LOSE(1) :: LOSE(2)
	od
}
#endif

init {
	atomic {
		/* What earlier attempts left: none or some of the masters are ahead. */
		if
		:: true
#ifndef AMNESIA
		:: fence[0] = 1
		:: fence[0] = 1; fence[1] = 1
#endif
		fi;
		run Attempt(1);
		run Attempt(2);
#if ATTEMPTS > 2
		run Attempt(3);
#endif
	}
}
