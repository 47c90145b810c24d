# Memory that outlives a call: which is found, that runs more leave no trace in it, and that answers are held where it moves.

module HoldingTests

using MutationBridge: Disproved, NoEngine, Outside, Remembered, again, changed, memory_of, names_memory, pullback_by, put_back!
using DifferentiationInterface, Test

const HAS_MOONCAKE = Base.find_package("Mooncake") !== nothing
HAS_MOONCAKE && @eval using Mooncake

mutable struct Counter
    n::Float64
end
struct Layer
    work::Vector{Float64}
end
(l::Layer)(x) = (l.work .= x; sum(l.work))

const SCRATCH = zeros(3)
const NESTED = Dict{Symbol,Any}(:a => [zeros(2)], :b => Counter(1.0))
const LAYER = Layer(zeros(3))
const WEIGHTS = [1.0, 2.0, 3.0]
const NAMES = ["a"]
module Inner
const TABLE = zeros(2)
end
total = 0.0

helper!(x) = (SCRATCH[1] = x; x)
by_keyword(x; k=1) = (SCRATCH[k] = x; x)

found(f) = sort!(unique!(last.(memory_of(Outside(f)))))
here(names...) = ["$(@__MODULE__).$name" for name in names]

@testset "what is found" begin
    @test found(x -> (SCRATCH .= x; sum(x))) == here("SCRATCH")
    @test found(x -> helper!(x) + 1) == here("SCRATCH")
    @test found(x -> by_keyword(x; k=2)) == here("SCRATCH")
    @test found(x -> map(v -> helper!(v), x)) == here("SCRATCH")
    @test found(x -> LAYER(x)) == here("LAYER")
    @test found(x -> (Inner.TABLE[1] = x; x)) == here("Inner.TABLE")
    @test found(x -> (NESTED[:c] = x; x)) == here("NESTED")
    @test length(memory_of(Outside(x -> (NESTED[:c] = x; x)))) == 4   # the dictionary, an array, one in it, a struct
    @test found(x -> (global total += x; total)) == here("total")
    @test found(x -> setglobal!(@__MODULE__, :total, x)) == here("total")
    @test found(let work = zeros(2); x -> (work .= x; sum(work)); end) == ["the captured work"]
    @test found(let n = 0.0; x -> (n += x; n); end) == ["the captured n"]
    @test found(LAYER) == ["what it captures"]
    given(args...) = last.(memory_of(Outside((f, x) -> f(x), args)))
    @test given(helper!, 1.0) == here("SCRATCH") == given((f = helper!, n = 1), 1.0)
    @test isempty(given(sum, zeros(3)))
end

@testset "nothing is found where nothing writes, or nothing lasts" begin
    @test isempty(found(x -> sum(x .* WEIGHTS)))
    @test isempty(found(x -> (y = copy(x); y[1] = 2; sum(y))))
    @test isempty(found(x -> (push!(NAMES, "b"); sum(x))))
    @test isempty(found(sum))
    @test names_memory(Outside(x -> sum(x .* WEIGHTS)))
    @test !names_memory(Outside(x -> sum(x)))
end

@testset "a run more begins with what was before, and leaves no trace" begin
    remembered = Remembered(memory_of(Outside(x -> (SCRATCH[1] = x; NESTED[:c] = x; global total += x; LAYER(x)))))
    before = deepcopy((SCRATCH, NESTED, total, LAYER.work))
    counter = NESTED[:b]
    SCRATCH[2] = 4      # what the call did
    names = again(remembered) do
        @test SCRATCH == before[1]
        SCRATCH .= 7
        push!(NESTED[:a], ones(1))
        NESTED[:a][1][2] = 5
        NESTED[:c] = 1
        delete!(NESTED, :b)
        counter.n += 1
        global total = 3.0
        changed(remembered)
    end
    @test sort(names) == sort(here("SCRATCH", "NESTED", "total"))
    @test SCRATCH == [0, 4, 0] && isequal((total, LAYER.work), before[3:4])
    @test NESTED[:a] == before[2][:a] && NESTED[:b] === counter && counter.n == 1 && !haskey(NESTED, :c)
    @test_throws ErrorException again(() -> (SCRATCH[1] = 9; error("on purpose")), remembered)
    @test SCRATCH == [0, 4, 0]
    put_back!(remembered)
    @test SCRATCH == before[1]
    channel, grown = Channel{Float64}(2), [1.0]
    remembered = Remembered(memory_of(Outside(x -> (put!(channel, x); push!(grown, x); x))))
    again(() -> (put!(channel, 1.0); append!(grown, 1:5)), remembered)
    @test Base.n_avail(channel) == 0 && grown == [1.0]
end

if isdefined(Base, :Memory)     # since Julia 1.11
    const RAW = fill!(Memory{Float64}(undef, 2), 0.0)
    const SLOTS = fill!(Memory{Any}(undef, 1), zeros(2))

    @testset "memory without an array is found, and put back" begin
        writing(x) = (RAW[1] = x; SLOTS[1][1] = x; x)
        @test found(writing) == here("RAW", "SLOTS")
        remembered = Remembered(memory_of(Outside(writing)))
        array = SLOTS[1]
        again(remembered) do
            RAW[2], array[2], SLOTS[1] = 3.0, 4.0, nothing
            @test sort(unique!(changed(remembered))) == here("RAW", "SLOTS")
        end
        @test RAW == [0, 0] && SLOTS[1] === array == [0, 0]
    end
end

const MEMO = Dict{UInt,Any}()
memoised(x) = sum(get!(() -> x .^ 2, MEMO, hash(x)) .* x)
later(x) = (y = copy(x); y[1] > 0 || return (y[1] *= 2; sum(y .^ 2)); SCRATCH .= y .^ 2; sum(SCRATCH))
logged(x) = (y = copy(x); y[1] *= 3; push!(SEEN, sum(y)); sum(y .^ 2))
const SEEN = Float64[]
chosen(x, flag) = (y = copy(x); y[1] *= 1; sum(abs2, [y[1] 0; y[2] y[1]] \ (flag ? y : WEIGHTS[1:2])))

"What the first of the engines says that refuse; a test fails if none does."
function refusal(ad, f, args...)
    try
        last(pullback_by(ad, f, args...))(1.0)
    catch error
        error isa NoEngine && (error = last(last(filter(pair -> last(pair) isa Disproved, error.refusals))))
        @test error isa Disproved
        return sprint(showerror, error)
    end
    @test "no refusal" == ad
    return ""
end

@testset "a memo is found out where it answers" begin
    x = [0.3, -0.5, 1.1]
    @test only(last(pullback_by(:auto, memoised, x))(1.0)) ≈ 3 .* x .^ 2
    @test occursin("writes memory that outlives the call ($(only(here("MEMO"))))", refusal(:auto, memoised, x))
    @test length(MEMO) <= 2
end

const MEAN = Ref(1.0)
averaging(x) = (MEAN[] = 0.9 * MEAN[] + 0.1 * sum(x); sum(x .^ 2) / MEAN[])

@testset "what a call finds is what differences find, by $ad" for ad in (:auto, :zygote)
    x, MEAN[] = [0.3, -0.5, 1.1], 1.0
    for _ in 1:3
        mean = 0.9 * MEAN[] + 0.1 * sum(x)
        @test only(last(pullback_by(ad, averaging, x))(1.0)) ≈ 2 .* x ./ mean .- 0.1 * sum(x .^ 2) / mean^2
        @test MEAN[] ≈ mean
    end
end

if HAS_MOONCAKE
    @testset "a later call that writes a global, by $ad" for ad in (:auto, :mooncake)
        x = [-0.3, -0.5, 1.1]
        @test only(last(pullback_by(ad, later, x))(1.0)) ≈ 2 .* x .* [4, 1, 1]
        @test occursin(only(here("SCRATCH")), refusal(ad, later, -x))
    end

    @testset "what is written and not read is no reason to refuse" begin
        empty!(SEEN)
        x = [0.3, -0.5, 1.1]
        @test only(last(pullback_by(:auto, logged, x))(1.0)) ≈ 2 .* x .* [9, 1, 1]
        @test SEEN == [sum(x .* [3, 1, 1])]      # of one run, at this point
    end
else
    @info "Mooncake is not in the project: its answers are not held here"
end

end
