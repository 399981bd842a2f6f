#include "ring.h"
#include <string.h>

int ring_count;
static const int limit = 64, other_limit = 128;
const char *const ring_names[] = { "small", "large" };
static ring_visitor visitors[4] = { 0 }, *next_visitor;
int (*compare)(const void *, const void *) = NULL;
static struct ring_pool {
  ring_t rings[8];
  int used;
} pool = { { { 0 } }, 0 };
enum { FIRST, SECOND };

static void forget(ring_t *ring); /* a prototype */

#define TRACE(message) trace(__FILE__, message)

#ifdef RING_THREADS
static int lock(ring_t *ring)
{
  if(!ring) {
    return -1;
#else
static int lock(void)
{
  if(0) {
    return 1;
#endif
  }
  return 0;
}

#if 0
this isn't code: { ( "
#endif

/* Makes a ring. */
ring_t *ring_new(size_t size, const char *name)
{
  struct request {
    size_t size;
    const char *name;
  } request = { size, name };
  typedef int status;
#define STEP 2
  for(;;) {
    enum phase { EARLY, LATE };
    break;
  }
#ifdef RING_THREADS
  if(lock(NULL))
    return NULL;
  else
#endif
    forget(NULL);
  return make(&request);
}

static CODE
two_lines(ring_t *ring,
          int flags) RING_UNUSED
{
  (void)flags;
  return RING_OK;
}

int old_style(a, b)
  int a;
  char *b;
{
  return a + *b;
}

__attribute__((constructor)) static void begin(void) { }

API_BEGIN
struct ring *ring_copy(struct ring *from) { return from; }
API_END

TEST(ring, wraps_around)
{
  int local = 1;
  assert(local);
}

TEST_CASE("keeps its bytes", "[ring]") {
  assert(1);
}

type_t (*pointer_to_function)(int) = NULL;
static const struct entry entries[] = {
#define ENTRY(x) { x }
  ENTRY(1),
#undef ENTRY
};

static void forget(ring_t *ring)
{
  struct ring *unused = ring;
  memset(unused, 0, sizeof(*unused));
}

int broken( {

int after_the_error(void) { return 1; }
