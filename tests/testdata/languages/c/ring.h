#ifndef RING_H
#define RING_H

/*
 * A ring buffer of bytes, for one reader and one writer.
 */

#include <stddef.h>
#include "ring_config.h"
#include RING_PLATFORM_HEADER

#ifdef __cplusplus
extern "C" {
#endif

#define RING_VERSION "1.2"
#define RING_EMPTY
/* The smaller of two values; evaluates them twice. */
#define RING_MIN(a, b) \
  ((a) < (b) ? (a) : (b))

/* What a call can answer. */
typedef enum {
  RING_OK,          /* fine */
  RING_FULL = -1,
  RING_GONE RING_DEPRECATED(1.1, "use RING_FULL") = -2,
#ifdef RING_WITH_TIMEOUT
  RING_TIMEOUT,
#endif
  RING_LAST_CODE
} ring_code;

enum ring_mode { RING_BLOCKING, RING_POLLING = 4 };

struct ring_stats; /* defined elsewhere */

typedef struct ring {
  unsigned char *data, *end;
  size_t size;
  unsigned int closed : 1;
  BIT(overrun);
  char name[16];
  ring_code (*on_full)(struct ring *self, void *user);
  struct {
    int reader;
    int writer;
  } fds;
  union {
    long number;
    void *pointer;
  };
  struct ring_stats *stats;
} ring_t, *ring_ref;

typedef struct ring_node ring_node;
typedef unsigned long ring_size;
typedef ring_code (*ring_visitor)(const unsigned char *from, size_t n);
typedef struct {
  int major, minor;
} ring_version_t;

union ring_word {
  unsigned char bytes[4];
  unsigned int word;
};

/** Makes a ring.
 *
 *  The caller owns it.
 */
RING_EXTERN ring_t *ring_new(size_t size,
                             const char *name);

// Returns the number of bytes written.
RING_EXTERN
RING_DEPRECATED(1.0, "use ring_put")
size_t ring_write(ring_t *ring, const void *from, size_t n) RING_NONNULL(1);

ring_code RING_CALL ring_put(ring_t *, int);
void (*ring_handler(int signal, void (*handler)(int)))(int);
extern int ring_count;
extern const char *const ring_names[];

static inline int ring_is_empty(const ring_t *ring)
{
  return ring->data == ring->end;
}

#ifdef __cplusplus
}
#endif
#endif /* RING_H */
