"""Algorithms as people write them: templates of lines, in which names after `$` are fresh."""

IDIOMS = (
    # Forward and back substitution.
    """
for $i in range(n):
    u[$i] = (x[$i] - A[$i, :$i] @ u[:$i]) / (2.0 + A[$i, $i] ** 2)
""",
    """
for $i in range(n - 1, -1, -1):
    u[$i] = (x[$i] - np.dot(A[$i, $i + 1:], u[$i + 1:])) / (2.0 + abs(A[$i, $i]))
""",
    # Cholesky's factor, elimination, Gram and Schmidt.
    """
$B = A @ A.T + n * np.eye(n)
$B[0, 0] = np.sqrt($B[0, 0])
for $i in range(1, n):
    for $j in range($i):
        $B[$i, $j] -= np.dot($B[$i, :$j], $B[$j, :$j])
        $B[$i, $j] /= $B[$j, $j]
    $B[$i, $i] -= np.dot($B[$i, :$i], $B[$i, :$i])
    $B[$i, $i] = np.sqrt($B[$i, $i])
v = 0.3 * $B[<index>]
""",
    """
$B = A + n * np.eye(n)
for $k in range(n - 1):
    $B[$k + 1:, $k] /= $B[$k, $k]
    $B[$k + 1:, $k + 1:] -= np.outer($B[$k + 1:, $k], $B[$k, $k + 1:])
u = 0.2 * $B[:, <index>]
""",
    """
$Q = A + 3 * np.eye(n)
for $k in range(n):
    $Q[:, $k] /= np.sqrt($Q[:, $k] @ $Q[:, $k])
    for $j in range($k + 1, n):
        $Q[:, $j] -= $Q[:, $k] * ($Q[:, $k] @ $Q[:, $j])
v = $Q[<index>]
""",
    # The largest element, and where it is.
    """
$best, $where = x[0], 0
for $i in range(1, n):
    if x[$i] > $best:
        $best, $where = x[$i], $i
u[$where] += $best
""",
    """
$best = None
for $e in <vector>:
    if $best is None or $e > $best:
        $best = $e
s += $best
""",
    # Sorting.
    """
for $i in range(n):
    for $j in range(n - 1 - $i):
        if x[$j] > x[$j + 1]:
            x[$j], x[$j + 1] = x[$j + 1], x[$j]
""",
    """
for $i in range(1, n):
    $key, $j = u[$i], $i - 1
    while $j >= 0 and u[$j] > $key:
        u[$j + 1] = u[$j]
        $j -= 1
    u[$j + 1] = $key
""",
    # Roots.
    """
$y = 1.5
while abs($y * $y - 1.0 - s * s) > 1e-6:
    $y = 0.5 * ($y + (1.0 + s * s) / $y)
t = $y
""",
    """
$low, $high = 0.0, 2.0
for $k in range(8):
    $middle = 0.5 * ($low + $high)
    if $middle ** 3 + $middle > 1.0 + a:
        $high = $middle
    else:
        $low = $middle
s += $middle * x[0]
""",
    # Sums of what came before, averages, convolution.
    """
for $i in range(1, n):
    u[$i] += 0.5 * u[$i - 1]
""",
    """
for $i in range(n):
    v[$i] = np.mean(x[max(0, $i - 1):$i + 2])
""",
    """
$weights = np.array([0.25, t, 0.25])
for $i in range(n - 2):
    u[$i] = np.sum(x[$i:$i + 3] * $weights)
""",
    # Steps in time, relaxation, iterations that converge.
    """
$new = u.copy()
for $k in range(6):
    $new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    $new[0] = $new[-1] = 0.1 * $k
    u, $new = $new, u
""",
    """
for $k in range(2):
    for $i in range(1, n - 1):
        for $j in range(1, n - 1):
            A[$i, $j] = 0.25 * (A[$i - 1, $j] + A[$i + 1, $j] + A[$i, $j - 1] + A[$i, $j + 1])
""",
    """
$y = np.ones(n) / n
for $k in range(5):
    $y = (A + 3 * np.eye(n)) @ $y
    $y /= np.sqrt($y @ $y)
u = $y
""",
    """
$y = x * 0.1
for $k in range(8):
    $old = $y.copy()
    $y[1:-1] = 0.3 * ($y[:-2] + $y[2:]) + 0.1
    if np.max(np.abs($y - $old)) < 0.02:
        break
v = $y
c = $k
""",
    """
$time, $h, $y = 0.0, 0.4, x[0] + 1.0
while $time < 1.0:
    $new = $y - $h * $y * a
    if abs($new - $y) > 0.2 and $h > 0.1:
        $h *= 0.5
        continue
    $y = $new
    $time += $h
s = $y
""",
    # Searches.
    """
for $i, $e in enumerate(<vector>):
    if $e > <compared>:
        t = $e * $i
        break
else:
    t = 0.5 * s
""",
    """
$found = False
for $e in u:
    if not $found and $e > 0.3:
        $found = True
        s += $e
    elif $found:
        s -= 0.3 * $e
t = s if $found else -t
""",
    """
$low, $high = 0, n
while $low < $high:
    $middle = ($low + $high) // 2
    if np.sum(np.abs(x[:$middle])) < 1.0:
        $low = $middle + 1
    else:
        $high = $middle
s += np.sum(u[:$low])
""",
    # Integers that decide.
    """
$m, $k = 6, 0
while $m != 1:
    $m = $m // 2 if $m % 2 == 0 else 3 * $m + 1
    $k += 1
    s = 0.5 * s + 0.01 * $m * t
c = $k
""",
    """
$i, $j = 0, n - 1
while $i < $j:
    x[$i], x[$j] = x[$j], x[$i]
    $i += 1
    $j -= 1
""",
    """
$hist = np.zeros(4)
for $i in range(n):
    $hist[int(abs(x[$i]) * 4) % 4] += u[$i] + 0.1
s += $hist[1] * $hist[2]
""",
    # Tables, tridiagonal systems, triangles.
    """
$D = np.zeros((n, n))
for $i in range(n):
    for $j in range(n):
        if $i > 0 and $j > 0:
            $D[$i, $j] = min($D[$i - 1, $j], $D[$i, $j - 1]) + A[$i, $j]
        elif $i > 0 or $j > 0:
            $D[$i, $j] = A[$i, $j] + ($D[$i - 1, $j] if $i > 0 else $D[$i, $j - 1])
t = $D[-1, -1] * 0.2
""",
    """
$cs, $ds = np.zeros(n), np.zeros(n)
$cs[0], $ds[0] = 0.2, x[0] / 2.0
for $i in range(1, n):
    $m = 2.0 - a * $cs[$i - 1]
    $cs[$i] = 0.5 / $m
    $ds[$i] = (x[$i] - a * $ds[$i - 1]) / $m
for $i in range(n - 2, -1, -1):
    $ds[$i] -= $cs[$i] * $ds[$i + 1]
v = $ds
""",
    """
for $i in range(n):
    for $j in range($i + 1):
        A[$i, $j] *= 0.9
        A[$i, $j] += 0.2 * x[$i] * u[$j]
    A[$i, :$i + 1] += 0.1 * v[$i]
""",
)
