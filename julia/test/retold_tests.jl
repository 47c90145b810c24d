# Cases of Zygote's own Buffer tests, of ChainRules' discussion of fill!, and of the questions people ask, in our words.

module RetoldTests

using MutationBridge, Test
using LinearAlgebra: dot
import ForwardDiff, Zygote

const grad = MutationBridge.gradient
const x0 = [1.0, 2.0, 3.0]

@testset "Zygote's Buffer tests, retold" begin
    # A copy of a Buffer that was filled element by element.
    @test grad([1.0, 2.0, 3.0]) do x
        b = Buffer(zeros(3))
        b .= x
        return sum(map(abs2, copy(b)))
    end == ([2.0, 4.0, 6.0],)

    # Rows in a matrix Buffer.
    @test grad(x0) do x
        b = Buffer(zeros(2, 3))
        b[1, :] = x
        b[2, :] = 2x
        return sum(abs2, copy(b))
    end == (10x0,)

    # An element that is written twice: the first value has no gradient.
    @test grad(2.0) do x
        b = Buffer([0.0])
        b[1] = x^3
        b[1] = x^2
        return b[1]
    end == (4.0,)

    # A product by repeated overwriting.
    @test grad(2.0) do x
        b = Buffer([1.0])
        for _ in 1:5
            b[1] = b[1] * x
        end
        return b[1]
    end[1] == 80.0

    # A stack of values by push!, and a filter by hand.
    @test grad([-1.0, 2.0, 3.0]) do x
        b = Buffer(Float64[])
        for v in x
            v > 0 && push!(b, v^2)
        end
        return sum(copy(b))
    end == ([0.0, 4.0, 6.0],)

    # Values of another type than the gradient: the shadow is wide enough.
    @test grad(3.0f0) do v
        b = Buffer(zeros(Float32, 2))
        b[1] = v
        b[2] = b[1] * v
        return b[2]
    end == (6.0f0,)

    # The pullback of a matrix-valued function of Buffers.
    y, back = MutationBridge.pullback([1.0 2.0; 3.0 4.0]) do A
        b = Buffer(zeros(2, 2))
        copyto!(b, A)
        b[1, 1] = b[2, 2] * 2
        return copy(b)
    end
    @test y == [8.0 2.0; 3.0 4.0]
    @test back([1.0 1.0; 1.0 1.0]) == ([0.0 1.0; 1.0 3.0],)

    # A Buffer that is not used at all, and one whose content does not reach the result.
    @test grad(x -> (Buffer(x); sum(x)), x0) == (ones(3),)
    @test grad(x -> (b = Buffer(x); b[1] = x[2]; sum(x)), x0) == (ones(3),)
end

@testset "fill! as ChainRules' maintainers discuss it" begin
    # The value that fills collects the sum; what was there before gets nothing from after, and keeps what came before.
    @test grad((x, v) -> (b = Buffer(x); fill!(b, v); sum(copy(b))), x0, 5.0) == (zeros(3), 3.0)
    @test grad((x, v) -> (b = Buffer(x); s = sum(abs2, copy(b)); fill!(b, v); s + sum(copy(b))), x0, 5.0) == (2x0, 3.0)
    # The array is read, filled from a value that depends on it, and read again.
    @test grad(x -> (b = Buffer(x); fill!(b, b[2]^2); sum(copy(b)) * b[1]), x0)[1] == [0.0, 96.0, 0.0]
    # The result of fill! is not used, or is.
    @test grad((x, v) -> (b = Buffer(x); c = fill!(b, v); c[1] * c[2]), x0, 5.0) == (zeros(3), 10.0)
    # Only a part is filled.
    @test grad((x, v) -> (b = Buffer(x); fill!(view(b, 2:3), v); sum(copy(b))), x0, 5.0) == ([1.0, 0.0, 0.0], 2.0)
end

@testset "the plain-word list" begin
    @testset "overwrite an operand that a rule captured" begin
        @test grad(x -> (b = Buffer(x); y = dot(copy(b), copy(b)); b[1] = 0.0; y + b[2]), x0)[1] == [2.0, 5.0, 6.0]
        @test grad(x -> (b = Buffer(x); y = sum(b .* b); b .= 0.0; y + sum(copy(b))), x0)[1] == 2x0
        @test grad(x -> (b = Buffer(x); y = b .* x; b[1] = 7.0; sum(y)), x0)[1] == 2x0
        @test grad(x -> (b = Buffer(x); y = map(*, b[:], x); b[2] = b[1]; sum(y) + b[2]), x0)[1] == 2x0 .+ [1, 0, 0]
    end
    @testset "two copies of one Buffer" begin
        @test grad(x -> (b = Buffer(x); sum(copy(b)) + sum(abs2, copy(b))), [1.0, 2.0])[1] == [3.0, 5.0]
        @test grad(x -> (b = Buffer(x); c = copy(b); b[1] = 5c[2]; d = copy(b); sum(c) + sum(abs2, d)), [1.0, 2.0])[1] == [1.0, 105.0]
    end
    @testset "duplicate indices" begin
        @test grad(x -> sum(Buffer(x)[[1, 1]]), [1.0, 2.0])[1] == [2.0, 0.0]
        @test grad(x -> (b = Buffer(zeros(2)); b[[1, 1]] = [x[1], x[2]]; b[1]), [1.0, 2.0])[1] == [0.0, 1.0]
        @test grad(x -> (b = Buffer(zeros(2)); b[[1, 2, 1]] = x; b[1] + 10 * b[2]), x0)[1] == [0.0, 10.0, 1.0]
    end
    @testset "scalar loop with read and write" begin
        @test grad(x -> (b = Buffer(x); for i in 2:3
            b[i] = b[i] * b[i-1]
        end; b[3]), x0)[1] == [6.0, 3.0, 2.0]
    end
    @testset "fill column by column" begin
        f(x) = (b = Buffer(zeros(3, 2)); for j in 1:2
            b[:, j] .= x .* j
        end; sum(abs2, copy(b)))
        @test f(x0) == 70.0
        @test grad(f, x0)[1] == 10x0
        @test grad(x -> (b = Buffer(zeros(3, 2)); b[:, 1] .= x; sum(copy(b))), x0)[1] == ones(3)
    end
    @testset "b .= generator" begin
        @test grad(x -> (b = Buffer(zeros(3)); b .= (v^2 for v in x); sum(copy(b))), x0)[1] == 2x0
        @test grad(x -> (b = Buffer(zeros(3)); copyto!(b, (v^2 for v in x)); sum(copy(b))), x0)[1] == 2x0
    end
    @testset "integer Buffer with float gradient" begin
        @test grad(x -> (b = Buffer([1, 2, 3]); sum(copy(b) .* x)), x0)[1] == [1.0, 2.0, 3.0]
        @test grad(x -> sum(Buffer(x)[:] .* [0.5, 0.5, 0.5]), [1, 2, 3])[1] == [0.5, 0.5, 0.5]
    end
    @testset "arrays as elements" begin
        @test grad(x -> (b = Buffer([zeros(3), zeros(3)]); b[1] = 2x; b[2] = b[1] .* x; sum(b[2])), x0)[1] == 4x0
        @test grad(x -> (b = Buffer([x, 2x]); b[1] = b[2] .* b[1]; sum(b[1])), x0)[1] == 4x0
    end
    @testset "add one, then square" begin
        addone!(b) = (for i in eachindex(b)
            b[i] += 1
        end; nothing)
        @test grad(x -> (b = Buffer(x); addone!(b); sum(abs2, copy(b))), x0)[1] == 2 .* (x0 .+ 1)
        @test grad(x -> (b = Buffer(x); y = dot(copy(b), copy(b)); addone!(b); b[1] + y), x0)[1] == [3.0, 4.0, 6.0]
    end
    @testset "called twice on one preallocated cache" begin
        square_into!(cache, x) = (cache .= x .^ 2; sum(copy(cache)))
        @test grad(x -> (c = Buffer(zeros(3)); square_into!(c, x) + square_into!(c, 2x)), x0)[1] == 10x0
    end
    @testset "pullback called twice" begin
        y, back = MutationBridge.pullback(x0) do x
            b = Buffer(x)
            foreach(i -> b[i] = b[i]^2, 1:3)
            map(i -> (b[i] = b[i] * x[1]; nothing), 1:3)
            push!(b, b[1])
            any(i -> (b[i] = b[i] + 1; false), 1:3)
            return sum(copy(b))
        end
        first_time = back(1.0)[1]
        @test first_time ≈ ForwardDiff.gradient(x -> sum((x .^ 2) .* x[1]) + x[1]^3 + 3, x0)
        @test back(1.0)[1] == first_time
        @test back(2.0)[1] == 2 .* first_time
    end
    @testset "the caller's array is untouched" begin
        x = copy(x0)
        grad(x -> (b = Buffer(x); b .= 0; sum(copy(b))), x)
        @test x == x0
    end
end

# A small machine: a program is a list of instructions that read and write the memory `m`; the same `execute` runs them
# over a Buffer and over a plain Array of dual numbers.
struct Instruction
    kind::Symbol
    i::Int
    j::Int
    n::Int
    c::Float64
end

const kinds = (:write, :product, :range, :view, :columnlike, :duplicates, :gather, :map, :map_value, :comprehension,
               :filtered, :broadcast, :broadcast_ref, :boolean, :sum, :foldl, :any, :findfirst, :foreach, :fill, :copyto,
               :push, :pop, :loop, :ntuple, :nested, :unused)

plain(m::Buffer) = copy(m)
plain(m::AbstractVector) = copy(m)
put!_at(m, i, v) = (m[i] = v; 0.0)
put_true!(m, i, v) = (m[i] = v; true)

function step!(m, x, acc, s::Instruction)
    i, j, n, c = s.i, s.j, s.n, s.c
    k = s.kind
    if k === :write
        m[i] = c * x[j] + m[j]
    elseif k === :product
        m[i] = m[i] * m[j] * c
    elseif k === :range
        m[i:i+n] = c .* m[j:j+n]
    elseif k === :view
        v = view(m, i:i+n)
        v .= plain(v) .* c .+ m[j]
    elseif k === :columnlike
        view(m, i:i+n) .= x[i:i+n] .* m[j:j+n]
    elseif k === :duplicates
        m[[i, j, i]] = [x[1], m[j] * c, x[j]]
    elseif k === :gather
        acc += sum(m[[i, j, i, i]]) * c
    elseif k === :map
        map(p -> (m[p] = m[p] * c + x[p]; nothing), i:i+n)
    elseif k === :map_value
        acc += sum(map((p, v) -> (m[p] = v * m[j]; m[p] * c), i:i+n, x[j:j+n]))
    elseif k === :comprehension
        acc += sum([(m[p] = sin(m[p]); c * m[p]) for p in i:i+n])
    elseif k === :filtered
        acc += foldl(+, [(m[p] = c * m[p]; m[p]) for p in i:i+n if m[p] > 0.0137]; init=0.0)
    elseif k === :broadcast
        acc += sum((p -> (m[p] = cos(m[p] * c); m[p])).(i:i+n))
    elseif k === :broadcast_ref
        put!_at.(Ref(m), i:i+n, x[j:j+n] .* c)
    elseif k === :boolean
        put_true!.(Ref(m), i:i+n, x[j:j+n] .* c)
    elseif k === :sum
        acc += sum(p -> (m[p] = m[p] * c; m[p] * x[j]), i:i+n)
    elseif k === :foldl
        acc += foldl((a, p) -> (m[p] = a * c; a * c + m[j]), i:i+n; init=m[i])
    elseif k === :any
        any(p -> (m[p] = m[p] * c; m[p] > 2.0137), i:i+n)
    elseif k === :findfirst
        found = findfirst(p -> (m[p] = m[p] + c; m[p] > 0.5137), collect(i:i+n))
        acc += found === nothing ? 0.0 : m[i+found-1]
    elseif k === :foreach
        foreach(p -> (m[p] = m[p] - c * m[j]), i:i+n)
    elseif k === :fill
        fill!(view(m, i:i+n), m[j] * c)
    elseif k === :copyto
        copyto!(m, c .* x)
    elseif k === :push
        push!(m, m[i] * c)
    elseif k === :pop
        acc += length(m) > length(x) ? pop!(m) * c : 0.0
    elseif k === :loop
        for p in i:i+n
            m[p] = m[p] + m[j] * c
        end
    elseif k === :ntuple
        ntuple(p -> (m[p] = m[p] * x[p] * c; nothing), 3)
    elseif k === :nested
        map(p -> sum((q -> (m[q] = m[q] * c + m[p]; m[q])).(i:i+n)), j:j+1)
    else
        plain(m) .* c
    end
    return acc
end

function execute(program, m, x)
    acc = 0.0
    for s in program
        acc = step!(m, x, acc, s)
    end
    return acc + sum(abs2, plain(m))
end

# A generator of its own, so that the programs are the same under every version of Julia.
mutable struct Dice
    state::UInt64
end
function roll(d::Dice, n)
    d.state = d.state * 0x5851f42d4c957f2d + 0x14057b7ef767814f
    Int((d.state >> 33) % UInt64(n)) + 1
end

const width = 6

function random_program(d::Dice)
    map(1:3+roll(d, 8)) do _
        n = roll(d, 3) - 1
        Instruction(kinds[roll(d, length(kinds))], roll(d, width - n), roll(d, width - 2), n, (roll(d, 9) - 5) / 4 + 0.1)
    end
end

@testset "random programs against ForwardDiff" begin
    d = Dice(0x2026112100000001)
    seen = Set{Symbol}()
    for k in 1:400
        program = random_program(d)
        union!(seen, (s.kind for s in program))
        x = [(roll(d, 200) - 100) / 80 for _ in 1:width]
        value = execute(program, copy(x), x)
        wanted = ForwardDiff.gradient(x -> execute(program, copy(x), x), x)
        result = MutationBridge.withgradient(x -> execute(program, Buffer(x), x), x)
        isfinite(value) && maximum(abs, wanted) < 1e100 || continue
        agrees = result.val ≈ value && isapprox(result.grad[1], wanted; rtol=1e-9, atol=1e-9 * (1 + maximum(abs, wanted)))
        agrees || @info "program $k" program x value result wanted
        @test agrees
    end
    @test seen == Set(kinds)
end

end
