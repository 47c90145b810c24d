/* What every compiled loop needs: the log, scratch memory, extrema, Python's integer division. */
#include <fenv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include <tgmath.h>
#undef I

#define APART __attribute__((noinline))

typedef int64_t I;
typedef double F;
typedef float S;
typedef uint8_t B;
typedef void (*numpy_loop)(char **, I const *, I const *, void *);

typedef struct {
    char *memory, *shadow, *mark;
    I capacity, extents[6];
} Local;
/* An array that a callback is given, or has made. */
typedef struct {
    char *memory, *shadow, *mark;
    I extents[6], strides[6];
} Given;
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
    I count, current, first, limit;
    F *scratch;
    I room, done, finished, full, discards, logged;
    numpy_loop *loops;
    void **data;
    int (*interrupted)(void), (*fits)(I);
    void *run;
    int (*call)(void *, I), (*pull)(void *, I);
    Given *given, *made;
    F *passed;
} Frame;

enum { SMALLEST = 1 << 13, LARGEST = 1 << 24, ASKED = 1 << 20, VECTOR = 256 };

/* Room for `n` values at the end of the log, all in one segment; null if the machine has none. A log that is discarded
   is written into one segment, over and over. */
static F *log_grow(Frame *f, F *p, I n)
{
    Segment *s = f->segments + f->current;
    if (f->count) {
        s->used = p - s->memory;
        f->logged += s->used;
        f->current += !f->discards;
    }
    I is_new = f->current == f->count;
    if (is_new || f->segments[f->current].size < n) {
        I size = is_new && f->count ? 2 * s->size : SMALLEST;
        size = size > LARGEST ? LARGEST : size;
        size = size < n ? n : size;
        if (size >= ASKED && !f->fits(size * sizeof(F))) {
            f->current -= f->count > 0 && !f->discards;
            return 0;
        }
        if (is_new) {
            f->segments = realloc(f->segments, (f->count + 1) * sizeof(Segment));
            f->segments[f->count++].memory = 0;
        }
        s = f->segments + f->current;
        s->memory = realloc(s->memory, size * sizeof(F));
        s->size = size;
#ifdef MADV_HUGEPAGE
        if (size >= ASKED)
            /* Large pages: the log is written once, and most of its time would be page faults. */
            madvise((void *)(((uintptr_t)s->memory + 4095) & ~(uintptr_t)4095), (size - 512) * sizeof(F),
                    MADV_HUGEPAGE);
#endif
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

/* Other extents for a local array. The log gets the old ones, and what the array held if that is kept; 0 if full. */
static APART int remake(Frame *f, Local *a, F **log, F **end, int ndim, const I *extents, int is_kept, int has_shadow)
{
    I old = 1, size = 1;
    for (int k = 0; k < ndim; k++) {
        old *= a->extents[k];
        size *= extents[k];
    }
    F *log_p = *log, *log_end = *end;
    ROOM(ndim + (is_kept ? old : 0));
    if (is_kept) {
        memcpy(log_p, a->memory, old * sizeof(F));
        log_p += old;
    }
    for (int k = 0; k < ndim; k++) {
        *log_p++ = as_float(a->extents[k]);
        a->extents[k] = extents[k];
    }
    make(a, size, has_shadow);
    *log = log_p;
    *end = log_end;
    return 1;
stop:
    return 0;
}
/* The opposite of `remake`. */
static APART void unmake(Frame *f, Local *a, F **log, F **begin, int ndim, int is_kept)
{
    F *log_p = *log, *log_begin = *begin;
    BACK();
    I old = 1;
    for (int k = ndim - 1; k >= 0; k--) {
        a->extents[k] = as_integer(*--log_p);
        old *= a->extents[k];
    }
    if (is_kept) {
        log_p -= old;
        memcpy(a->memory, log_p, old * sizeof(F));
    }
    *log = log_p;
    *begin = log_begin;
}

static inline F square(F x) { return x * x; }
static inline F sign(F x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x; }

/* A value whose bits depend on how NumPy walks the array: Python computes it. */
static inline F by_python(F x)
{
    feraiseexcept(FE_INVALID);
    return x;
}
/* An integer as NumPy makes a float32 of it: by way of float64, where that is exact. */
static inline S single_of(I x) { return x >> 53 == 0 || x >> 53 == -1 ? (F)x : by_python(x); }
static inline B zeros_differ(F x, F y) { return x == 0 && y == 0 && signbit(x) != signbit(y); }
static inline F numpy_maximum(F x, F y) { return zeros_differ(x, y) ? by_python(x) : x >= y || x != x ? x : y; }
static inline F numpy_minimum(F x, F y) { return zeros_differ(x, y) ? by_python(x) : x <= y || x != x ? x : y; }
static inline F numpy_clip(F x, F low, F high)
{
    if (low != low || high != high || zeros_differ(x, low) || zeros_differ(x, high) || zeros_differ(low, high))
        return by_python(x);
    F raised = x < low ? low : x;
    return raised > high ? high : raised;
}
/* Functions of the C library, as Python's `math` calls them: the compiler puts nothing else in their place. */
#define LIBM(name) static F (*volatile libm_##name)(F) = name;
LIBM(exp)
LIBM(expm1)
LIBM(log)
LIBM(log2)
LIBM(log10)
LIBM(log1p)
LIBM(sin)
LIBM(cos)
LIBM(tan)
LIBM(asin)
LIBM(acos)
LIBM(atan)
LIBM(sinh)
LIBM(cosh)
LIBM(tanh)
static F (*volatile c_pow)(F, F) = pow;
/* A power, or the last one at its place: in a loop, `dt / dx**2` often has the same operands each time. A result that
   is not finite is computed again, since that raises a floating-point flag. */
static inline F last_pow(F x, F y, F *last)
{
    if (memcmp(last, &x, sizeof(F)) || memcmp(last + 1, &y, sizeof(F)) || !isfinite(last[2])) {
        last[2] = c_pow(x, y);
        last[0] = x;
        last[1] = y;
    }
    return last[2];
}
#define libm_pow(x, y)                                                                                                 \
    ({                                                                                                                 \
        static F last[3] = {0, 0, NAN};                                                                                \
        last_pow((x), (y), last);                                                                                      \
    })
static S (*volatile libm_powf)(S, S) = powf;
static F (*volatile libm_atan2)(F, F) = atan2;
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
static I int_power(I a, I b)
{
    I c = 1;
    for (; b > 0; b >>= 1, a *= a)
        c *= b & 1 ? a : 1;
    return c;
}
static B power_fits(I a, I b)
{
    I c = 1;
    for (; b > 0 && (a > 1 || a < -1); b--)
        if (__builtin_mul_overflow(c, a, &c))
            return 0;
    return 1;
}

/* A sum of negative zeros: what it is depends on NumPy's version. */
static inline F not_minus_zero(F x) { return x == 0 && signbit(x) ? by_python(x) : x; }
static F max_F(const F *b, I n)
{
    F found = b[0];
    for (I k = 1; k < n; k++)
        found = numpy_maximum(found, b[k]);
    return found;
}
static F min_F(const F *b, I n)
{
    F found = b[0];
    for (I k = 1; k < n; k++)
        found = numpy_minimum(found, b[k]);
    return found;
}
/* The first place of an extremum; of a NaN, if there is one. */
static I argmax_F(const F *b, I n)
{
    I found = 0;
    for (I k = 1; k < n && b[found] == b[found]; k++)
        if (!(b[k] <= b[found]))
            found = k;
    return found;
}
static I argmin_F(const F *b, I n)
{
    I found = 0;
    for (I k = 1; k < n && b[found] == b[found]; k++)
        if (!(b[k] >= b[found]))
            found = k;
    return found;
}
static F count_winners(const F *b, I n, F best)
{
    I count = 0;
    for (I k = 0; k < n; k++)
        count += b[k] == best || b[k] != b[k];
    return count ? count : 1;
}
/* In the place of each of `n` numbers the product of all others; there is room for as many after them. */
static void products_of_others(F *b, I n)
{
    F left = 1.0, right = 1.0;
    for (I k = 0; k < n; k++) {
        b[n + k] = left;
        left *= b[k];
    }
    for (I k = n - 1; k >= 0; k--) {
        F own = b[k];
        b[k] = b[n + k] * right;
        right *= own;
    }
}
static I sum_I(const I *b, I n)
{
    I found = 0;
    for (I k = 0; k < n; k++)
        found += b[k];
    return found;
}
static I max_I(const I *b, I n)
{
    I found = b[0];
    for (I k = 1; k < n; k++)
        found = max_of(found, b[k]);
    return found;
}
static I min_I(const I *b, I n)
{
    I found = b[0];
    for (I k = 1; k < n; k++)
        found = min_of(found, b[k]);
    return found;
}

/* `dot` copies what has gaps, multiplies an array with itself in another way, and takes rows and columns for vectors:
   then Python computes it. */
static inline B is_packed(I outer, I inner, I extent, I size) { return inner == size && outer == size * extent; }
static inline void dot_as_matmul(const char *a, B has_rows, I a_rows, I a_inner, const char *b, I b_inner,
                                 B has_columns, I b_columns, I m, I k, I n, I size)
{
    B is_left = a_inner > 0, is_right = b_inner > 0;
    if (has_rows)
        is_left = m > 1 && (is_packed(a_rows, a_inner, k, size) || is_packed(a_inner, a_rows, m, size));
    if (has_columns)
        is_right = n > 1 && (is_packed(b_columns, b_inner, k, size) || is_packed(b_inner, b_columns, n, size));
    if (!is_left || !is_right || k < 2 || (has_rows && has_columns && a == b))
        by_python(0);
}

/* Call an inner loop of NumPy's. Some clear the floating-point flags, which earlier statements may have raised. */
static inline void call_numpy(Frame *f, int number, char **args, const I *sizes, const I *steps)
{
    int raised = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID);
    f->loops[number](args, sizes, steps, f->data[number]);
    if (raised)
        feraiseexcept(raised);
}
static inline B is_shortcut(F y) { return y == 2 || y == 0.5 || y == 1 || y == -1 || y == 0; }
/* Free what the runs of a loop have allocated. */
void release(Frame *f, I locals)
{
    for (I k = 0; k < f->count; k++)
        free(f->segments[k].memory);
    free(f->segments);
    free(f->scratch);
    f->segments = 0;
    f->scratch = 0;
    f->count = f->current = f->room = 0;
    for (I k = 0; k < locals; k++) {
        free(f->locals[k].memory);
        free(f->locals[k].shadow);
        memset(f->locals + k, 0, sizeof(Local));
    }
}
