# Directional derivatives by central differences, extrapolated to step zero (Ridders), with an estimate of their error.

"""
    slope(g, step) -> (derivative, error, kink)

The derivative of `g` at 0. `kink` says that the slopes on the two sides differ, so that there is none.
"""
function slope(g, step)
    table = fill(NaN, 9, 9)
    best, error = NaN, Inf
    for i in 1:9
        h = step / 2.0^(i - 1)
        table[1, i] = (g(h) - g(-h)) / 2h
        for j in 2:i
            table[j, i] = (4.0^(j - 1) * table[j-1, i] - table[j-1, i-1]) / (4.0^(j - 1) - 1)
            spread = max(abs(table[j, i] - table[j-1, i]), abs(table[j, i] - table[j-1, i-1]))
            spread < error && ((best, error) = (table[j, i], spread))
        end
    end
    h = step / 2.0^14
    middle = g(0.0)
    right, left = (g(h) - middle) / h, (middle - g(-h)) / h
    return best, error, abs(right - left) > 1e-2 * max(1, abs(right), abs(left))
end
