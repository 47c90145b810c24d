/* What every compiled loop needs: the log, scratch memory, NumPy's order of sums, Python's integer division. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t I;
typedef double F;
typedef uint8_t B;
typedef void (*numpy_loop)(char **, I const *, I const *, void *);

typedef struct {
    char *memory, *shadow, *mark;
    I capacity, extents[6];
} Local;
typedef struct {
    F *memory;
    I size, used;
} Segment;
typedef struct {
    char **memory, **shadow, **mark;
    I *extents, *strides, *integers;
    F *floats, *shadows, *marks;
    Local *locals;
    Segment *segments;
    I count, current, limit;
    F *scratch;
    I room, done, finished, full;
    numpy_loop *loops;
    void **data;
    int (*interrupted)(void), (*fits)(I);
} Frame;

enum { SMALLEST = 1 << 13, LARGEST = 1 << 24, ASKED = 1 << 20 };

/* Room for `n` values at the end of the log, all in one segment; null if the machine has none. */
static F *log_grow(Frame *f, F *p, I n)
{
    Segment *s = f->segments + f->current;
    if (f->count) {
        s->used = p - s->memory;
        f->current++;
    }
    I is_new = f->current == f->count;
    if (is_new || f->segments[f->current].size < n) {
        I size = is_new && f->count ? 2 * s->size : SMALLEST;
        size = size > LARGEST ? LARGEST : size;
        size = size < n ? n : size;
        if (size >= ASKED && !f->fits(size * sizeof(F)))
            return 0;
        if (is_new) {
            f->segments = realloc(f->segments, (f->count + 1) * sizeof(Segment));
            f->segments[f->count++].memory = 0;
        }
        s = f->segments + f->current;
        s->memory = realloc(s->memory, size * sizeof(F));
        s->size = size;
    }
    return f->segments[f->current].memory;
}

#define ROOM(n)                                                                                                        \
    do {                                                                                                               \
        if (log_end - log_p < (n)) {                                                                                   \
            F *grown = log_grow(f, log_p, (n));                                                                        \
            if (!grown) {                                                                                              \
                f->full = 1;                                                                                           \
                goto stop;                                                                                             \
            }                                                                                                          \
            log_p = grown;                                                                                             \
            log_end = log_p + f->segments[f->current].size;                                                            \
        }                                                                                                              \
    } while (0)
#define BACK()                                                                                                         \
    (log_p == log_begin && f->current > 0 ? (f->current--, log_begin = f->segments[f->current].memory,                 \
                                             log_p = log_begin + f->segments[f->current].used, (void)0)                \
                                          : (void)0)

static inline F as_float(I x)
{
    F y;
    memcpy(&y, &x, 8);
    return y;
}
static inline I as_integer(F x)
{
    I y;
    memcpy(&y, &x, 8);
    return y;
}

static inline F *scratch(Frame *f, I n)
{
    if (n > f->room) {
        f->room = 2 * n;
        free(f->scratch);
        f->scratch = malloc(f->room * sizeof(F));
    }
    return f->scratch;
}

/* Memory for a local array; what it holds is lost. Its shadow is zero. */
static inline void make(Local *a, I n, int has_shadow)
{
    if (n > a->capacity) {
        a->capacity = n;
        a->memory = realloc(a->memory, n * sizeof(F));
        if (has_shadow) {
            free(a->shadow);
            a->shadow = calloc(n, sizeof(F));
        }
    }
}

static inline F square(F x) { return x * x; }
static inline F sign(F x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }
static inline I min_of(I a, I b) { return b < a ? b : a; }
static inline I max_of(I a, I b) { return b > a ? b : a; }
static inline I py_floordiv(I a, I b)
{
    if (b == -1)
        return -a;
    I q = a / b;
    return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline I py_mod(I a, I b)
{
    if (b == -1)
        return 0;
    I r = a % b;
    return r + ((r != 0) & ((r < 0) != (b < 0))) * b;
}
static inline B add_fits(I a, I b)
{
    I c;
    return !__builtin_add_overflow(a, b, &c);
}
static inline B sub_fits(I a, I b)
{
    I c;
    return !__builtin_sub_overflow(a, b, &c);
}
static inline B mul_fits(I a, I b)
{
    I c;
    return !__builtin_mul_overflow(a, b, &c);
}

/* NumPy's pairwise sum. */
static F pairwise(const char *p, I n, I step)
{
#define AT(k) (*(const F *)(p + (k) * step))
    if (n < 8) {
        F sum = -0.0;
        for (I k = 0; k < n; k++)
            sum += AT(k);
        return sum;
    }
    if (n <= 128) {
        F r[8];
        for (int j = 0; j < 8; j++)
            r[j] = AT(j);
        I k = 8;
        for (; k < n - n % 8; k += 8)
            for (int j = 0; j < 8; j++)
                r[j] += AT(k + j);
        F sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; k < n; k++)
            sum += AT(k);
        return sum;
    }
    I half = n / 2;
    half -= half % 8;
    return pairwise(p, half, step) + pairwise(p + half * step, n - half, step);
#undef AT
}

static inline F numpy_dot(Frame *f, const char *a, I sa, const char *b, I sb, I n)
{
    F found = 0.0;
    if (n == 0)
        return 0.0;
    char *args[3] = {(char *)a, (char *)b, (char *)&found};
    I sizes[4] = {1, 1, n, 1}, steps[9] = {0, 0, 0, n * sa, sa, sb, sb, 8, 8};
    f->loops[0](args, sizes, steps, f->data[0]);
    return found;
}

#define BY_NUMPY(name, number)                                                                                         \
    static inline F numpy_##name(Frame *f, F x)                                                                        \
    {                                                                                                                  \
        F y;                                                                                                           \
        char *args[2] = {(char *)&x, (char *)&y};                                                                      \
        I n = 1, steps[2] = {8, 8};                                                                                    \
        f->loops[number](args, &n, steps, f->data[number]);                                                            \
        return y;                                                                                                      \
    }
BY_NUMPY(exp, 1)
BY_NUMPY(log, 2)
BY_NUMPY(sin, 3)
BY_NUMPY(cos, 4)
BY_NUMPY(tanh, 5)

/* Free what the runs of a loop have kept. */
void release(Frame *f, I locals)
{
    for (I k = 0; k < f->count; k++)
        free(f->segments[k].memory);
    free(f->segments);
    free(f->scratch);
    for (I k = 0; k < locals; k++) {
        free(f->locals[k].memory);
        free(f->locals[k].shadow);
    }
}
