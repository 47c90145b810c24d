# Our Buffer against Zygote's, Mooncake, ReverseDiff and Enzyme, in one process: `julia --project benchmarks/julia/run.jl [--quick]`,
# or as the second half of `python -m benchmarks.julia`.
# Mooncake, ReverseDiff and Enzyme take part where the project has them. Times are the best of several runs.

import MutationBridge, Zygote
using Printf: @sprintf

include("programs.jl")
using .Programs

const QUICK = "--quick" in ARGS
const PEERS = ["MutationBridge", "Zygote", "Mooncake", "ReverseDiff", "Enzyme"]

loaded(name) =
    try
        Base.require(Main, name)
    catch error
        error isa ArgumentError || rethrow()
        nothing
    end
const MOONCAKE, REVERSEDIFF, ENZYME = loaded(:Mooncake), loaded(:ReverseDiff), loaded(:Enzyme)

ours(f, x) = () -> MutationBridge.gradient(f, x)[1]
zygote(f, x) = () -> Zygote.gradient(f, x)[1]
function mooncake(f, x)
    MOONCAKE === nothing && return nothing
    cache = Base.invokelatest(MOONCAKE.prepare_gradient_cache, f, x)
    return () -> Base.invokelatest(MOONCAKE.value_and_gradient!!, cache, f, x)[2][2]
end
reversediff(f, x) =
    REVERSEDIFF === nothing ? nothing : () -> Base.invokelatest(REVERSEDIFF.gradient, f, x)
enzyme(f, x) =
    ENZYME === nothing ? nothing : () -> Base.invokelatest(ENZYME.gradient, ENZYME.Reverse, f, x)[1]

function measure(run)
    run()
    best, spent = Inf, 0.0
    for _ in 1:(QUICK ? 3 : 20)
        GC.gc(false)
        seconds = @elapsed run()
        best, spent = min(best, seconds), spent + seconds
        spent > (QUICK ? 1 : 10) && break
    end
    return best
end

# One row: the time of each peer that takes part; all must give the same gradient.
function row(name, runs...)
    reference = first(runs)()
    times = map(runs) do run
        run === nothing && return nothing
        isapprox(run(), reference; rtol=1e-8) || error("$name: the peers' gradients differ")
        measure(run)
    end
    own = first(times)
    cells = map(t -> t === nothing ? "–" : @sprintf("%.3g ms (%.2f)", 1e3t, t / own), times)
    println("| ", name, " | ", join(rpad.(cells, 18), " | "), " |")
    return times
end

println("Julia $VERSION, ", join(("$m $(pkgversion(m))" for m in (MutationBridge, Zygote, MOONCAKE, REVERSEDIFF, ENZYME) if m !== nothing), ", "))
println("Time, and in parentheses its ratio to MutationBridge's.\n")
println("| program | ", join(rpad.(PEERS, 18), " | "), " |")
println("|---|", "---:|"^length(PEERS))

short = rand(Programs.WIDTH)
sizes = QUICK ? (10^4, 10^5) : (10^4, 10^5, 10^6)
slices = map(sizes) do n
    x = rand(n)
    row("slice reads and writes, N = $n", ours(Programs.writes_ours, x), zygote(Programs.writes_zygote, x),
        mooncake(Programs.writes_loop, x), nothing, enzyme(Programs.writes_loop, x))
end
only = map(sizes) do n
    row("slice writes alone, N = $n", ours(Programs.write_only_ours(n), short),
        zygote(Programs.write_only_zygote(n), short), nothing, nothing, nothing)
end
x = rand(1000)
scalar = row("scalar recurrence, N = 1000", ours(Programs.recurrence_ours, x), zygote(Programs.recurrence_zygote, x),
    mooncake(Programs.recurrence_loop, x), reversediff(Programs.recurrence_reversediff, x),
    enzyme(Programs.recurrence_loop, x))
row("the same arithmetic, no array written", ours(Programs.floor_loop, 0.3), zygote(Programs.floor_loop, 0.3),
    mooncake(Programs.floor_loop, 0.3), nothing, enzyme(Programs.floor_loop, 0.3))
heat = [row("heat equation, 1e3 × 200", ours(Programs.heat_ours(200), x), zygote(Programs.heat_zygote(200), x),
    mooncake(Programs.heat_loop(200), x), nothing, enzyme(Programs.heat_loop(200), x))]
QUICK || let u = rand(10^6)
    push!(heat, row("heat equation, 1e6 × 20", ours(Programs.heat_ours(20), u), zygote(Programs.heat_zygote(20), u),
        mooncake(Programs.heat_loop(20), u), nothing, enzyme(Programs.heat_loop(20), u)))
    row("heat equation, the peers' with slices too", ours(Programs.heat_ours(20), u), nothing,
        mooncake(Programs.heat_arrays(20), u), nothing, enzyme(Programs.heat_arrays(20), u))
end

# One O(N) set-up (the Buffer and its shadow) is taken off before sizes are compared.
setup(n) = (x = rand(n); measure(ours(v -> sum(copy(MutationBridge.Buffer(v))), x)))
verdict(name, found, bound) =
    println("| ", name, " | ", @sprintf("%.2f", found), " | ", bound, " |")
println("\n| requirement | measured | required |\n|---|---:|---:|")
for (n, times) in zip(sizes, slices)
    n >= 10^5 && verdict("slice reads and writes, N = $n: Zygote / ours", times[2] / times[1], "≥ 20")
end
flat = [max(times[1] - setup(n), 0.0) for (n, times) in zip(sizes, slices)]
verdict("slice reads and writes without set-up, largest N / smallest", last(flat) / first(flat), "flat")
for (n, times) in zip(sizes, only)
    verdict("slice writes alone, N = $n: ours / Zygote.Buffer", times[1] / times[2], "≤ 1.5")
end
verdict("scalar recurrence: ours / Zygote.Buffer", scalar[1] / scalar[2], "≤ 1")
if MOONCAKE !== nothing
    verdict("scalar recurrence: ours / Mooncake", scalar[1] / scalar[3], "≤ 3")
    foreach((n, times) -> verdict("slice reads and writes, N = $n: ours / Mooncake", times[1] / times[3], "≤ 3"), sizes, slices)
    foreach((name, times) -> verdict("heat equation, $name: ours / Mooncake's loop", times[1] / times[3], "≤ 3"), ("1e3 × 200", "1e6 × 20"), heat)
end
flush(stdout)
