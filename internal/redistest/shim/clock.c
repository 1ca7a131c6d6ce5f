/*
 * Moves the wall clock of the process that it is preloaded into (LD_PRELOAD),
 * by an offset that may change at any time. The clocks that count intervals
 * stay as they are: sleeps and timers run on, as they do when somebody sets a
 * machine's clock.
 *
 * REDISTEST_CLOCK names a file of three int64: the offset in nanoseconds, the id
 * of the process that has mapped it, which proves that this was loaded, and the
 * instant at which the clock stands still, in nanoseconds since 1970; 0: it runs.
 *
 * The kernel is asked directly, not through the C library, whose own functions
 * may call the ones that are replaced here.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(time_t) == 8 && sizeof(long) == 8, "for 64-bit systems: struct timespec is the kernel's");

#define SECOND INT64_C(1000000000)

struct page {
	_Atomic int64_t offset; /* in nanoseconds; written from outside */
	_Atomic int64_t pid;
	_Atomic int64_t held; /* in nanoseconds; written from outside */
};

static struct page *page; /* NULL: the clock is not moved */

__attribute__((constructor)) static void map_page(void)
{
	const char *path = getenv("REDISTEST_CLOCK");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *p = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	page = p;
	atomic_store(&page->pid, (int64_t)getpid());
}

static int moved(clockid_t id, struct timespec *t)
{
	int failed = (int)syscall(SYS_clock_gettime, id, t);
	if (failed || !page)
		return failed;
	int64_t held = atomic_load(&page->held); /* once: it may change */
	if (held) {
		t->tv_sec = held / SECOND;
		t->tv_nsec = held % SECOND;
		return 0;
	}
	int64_t offset = atomic_load(&page->offset);
	int64_t ns = t->tv_nsec + offset % SECOND;
	int64_t s = t->tv_sec + offset / SECOND;
	if (ns < 0) {
		ns += SECOND;
		s--;
	} else if (ns >= SECOND) {
		ns -= SECOND;
		s++;
	}
	t->tv_sec = s;
	t->tv_nsec = ns;
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
		return moved(id, t);
	return (int)syscall(SYS_clock_gettime, id, t);
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec t;
	(void)zone; /* obsolete */
	if (moved(CLOCK_REALTIME, &t))
		return -1;
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *result)
{
	struct timespec t;
	if (moved(CLOCK_REALTIME, &t))
		return -1;
	if (result)
		*result = t.tv_sec;
	return t.tv_sec;
}
