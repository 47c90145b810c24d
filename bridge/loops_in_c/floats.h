/* What depends on the type of floats. The printer includes this twice: `REAL` is F or S, and `OF(name)` name_F or
   name_S. */

static inline REAL OF(mod)(REAL x, REAL y)
{
    REAL r = fmod(x, y);
    return r == 0 ? copysign((REAL)0, y) : (y < 0) != (r < 0) ? r + y : r;
}
static inline REAL OF(floordiv)(REAL x, REAL y)
{
    REAL r = fmod(x, y), q = (x - r) / y;
    if (r != 0 && (y < 0) != (r < 0))
        q -= 1;
    if (q == 0)
        return copysign((REAL)0, x / y);
    REAL whole = floor(q);
    return q - whole > (REAL)0.5 ? whole + 1 : whole;
}

/* NumPy's pairwise sum. */
static REAL OF(pairwise)(const REAL *p, I n)
{
    if (n < 8) {
        REAL sum = -0.0;
        for (I k = 0; k < n; k++)
            sum += p[k];
        return sum;
    }
    if (n <= 128) {
        REAL r[8];
        for (int j = 0; j < 8; j++)
            r[j] = p[j];
        I k = 8;
        for (; k < n - n % 8; k += 8)
            for (int j = 0; j < 8; j++)
                r[j] += p[k + j];
        REAL sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; k < n; k++)
            sum += p[k];
        return sum;
    }
    I half = n / 2;
    half -= half % 8;
    return OF(pairwise)(p, half) + OF(pairwise)(p + half, n - half);
}
static REAL OF(sum)(const REAL *b, I n) { return n ? not_minus_zero(OF(pairwise)(b, n)) : 0; }
static REAL OF(prod)(const REAL *b, I n)
{
    REAL found = 1;
    for (I k = 0; k < n; k++)
        found *= b[k];
    return found;
}

static inline REAL OF(numpy_dot)(Frame *f, const char *a, I sa, const char *b, I sb, I n)
{
    REAL found = 0;
    if (n == 0)
        return 0;
    char *args[3] = {(char *)a, (char *)b, (char *)&found};
    I size = sizeof(REAL), sizes[4] = {1, 1, n, 1}, steps[9] = {0, 0, 0, n * sa, sa, sb, sb, size, size};
    call_numpy(f, MATMUL, args, sizes, steps);
    return found;
}
/* `c` = the product of `m` by `k` and `k` by `n` elements, each with its two steps. */
static inline void OF(numpy_product)(Frame *f, const char *a, I a_rows, I a_inner, const char *b, I b_inner,
                                     I b_columns, char *c, I m, I k, I n)
{
    char *args[3] = {(char *)a, (char *)b, c};
    I size = sizeof(REAL), sizes[4] = {1, m, k, n};
    I steps[9] = {0, 0, 0, a_rows, a_inner, b_inner, b_columns, n * size, size};
    call_numpy(f, MATMUL, args, sizes, steps);
}

/* One element by the inner loop of a ufunc. The result lies apart: next to its argument, NumPy takes another way. */
static inline REAL OF(by_numpy_1)(Frame *f, int number, REAL x)
{
    REAL room[64 / sizeof(REAL)];
    char *args[2] = {(char *)room, (char *)room + 32};
    I n = 1, steps[2] = {sizeof(REAL), sizeof(REAL)};
    room[0] = x;
    call_numpy(f, number, args, &n, steps);
    return *(REAL *)args[1];
}
static inline REAL OF(by_numpy_2)(Frame *f, int number, REAL x, REAL y)
{
    REAL room[96 / sizeof(REAL)];
    char *args[3] = {(char *)room, (char *)room + 32, (char *)room + 64};
    I n = 1, steps[3] = {sizeof(REAL), sizeof(REAL), sizeof(REAL)};
    *(REAL *)args[0] = x;
    *(REAL *)args[1] = y;
    call_numpy(f, number, args, &n, steps);
    return *(REAL *)args[2];
}
static inline REAL OF(numpy_power)(Frame *f, int number, REAL x, REAL y)
{
    return is_shortcut(y) ? by_python(x) : OF(by_numpy_2)(f, number, x, y);
}
/* An array to the power of a number of Python's. */
static inline REAL OF(array_power)(Frame *f, int number, REAL x, REAL y)
{
    return y == 2     ? x * x
           : y == 0.5 ? sqrt(x)
           : y == 1   ? x
           : y == -1  ? 1 / x
           : y == 0   ? 1
                      : OF(by_numpy_2)(f, number, x, y);
}
