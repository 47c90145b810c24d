# Prints, as Markdown, what Zygote and MutationBridge answer for programs that mutate a buffer, beside the right answer.
#
#     julia --project=. examples/zygote_comparison.jl

using MutationBridge: MutationBridge, LostGradient
using ChainRulesCore: ChainRulesCore, NoTangent
using LinearAlgebra: dot
import ForwardDiff, Zygote

"""One program: `run(buffer, x)`, where `buffer(array)` makes the mutable copy, its text, and where it is asked."""
struct Case
    title::String
    text::String
    run::Function
    x::Vector{Float64}
    twice::Bool
end

text_of(f::Expr) = replace(replace(string(Base.remove_linenums!(f.args[2])), r"^begin\s*|\s*end$" => "", r"\s*\n\s*" => "; "),
    "begin; " => "(", r"; end(?=\)|,| for)" => ")", "->" => " -> ")

macro case(title, f, x, twice=false)
    :(Case($title, $(text_of(f)), $(esc(f)), $x, $twice))
end

addone!(x) = (for i in eachindex(x)
    x[i] += 1
end; x)
# Zygote cannot take `addone!` apart over an Array; this is the rule that one would write for it.
ChainRulesCore.rrule(::typeof(addone!), x::Array) = addone!(x), dy -> (NoTangent(), dy)

const cases = [
    @case("an operand is overwritten, the result of the call is unused",
          (buffer, x) -> begin b = buffer(x); y = dot(b[:], b[:]); addone!(b); b[1] + y end, [1.0, 2.0, 3.0]),
    @case("two copies", (buffer, x) -> begin b = buffer(x); sum(copy(b)) + sum(abs2, copy(b)) end, [1.0, 2.0]),
    @case("two copies of what was written",
          (buffer, x) -> begin b = buffer(zero(x)); b[1] = x[1]; b[2] = x[2]; sum(copy(b)) + sum(abs2, copy(b)) end, [1.0, 2.0]),
    @case("initial contents", (buffer, x) -> begin b = buffer(x); sum(abs2, copy(b)) end, [1.0, 2.0]),
    @case("writes in a map whose result is unused",
          (buffer, x) -> begin b = buffer(zero(x)); map(i -> (b[i] = x[i]^2; nothing), 1:2); sum(copy(b)) end, [1.0, 2.0]),
    @case("writes in a comprehension whose result is unused",
          (buffer, x) -> begin b = buffer(zero(x)); [(b[i] = x[i]^2; i) for i in 1:2]; sum(copy(b)) end, [1.0, 2.0]),
    @case("writes in a broadcast whose result is Boolean",
          (buffer, x) -> begin b = buffer(zero(x)); (i -> (b[i] = x[i]^2; true)).(1:2); sum(copy(b)) end, [1.0, 2.0]),
    @case("writes in sum(f, xs), result unused",
          (buffer, x) -> begin b = buffer(zero(x)); sum(i -> (b[i] = x[i]^2; x[i]), 1:2); sum(copy(b)) end, [1.0, 2.0]),
    @case("writes in sum(f, xs) that build on each other",
          (buffer, x) -> begin b = buffer(x); sum(i -> (b[1] = b[1] * x[i]; b[1]), 1:2) end, [1.0, 2.0]),
    @case("a predicate writes",
          (buffer, x) -> begin b = buffer(zero(x)); any(i -> (b[i] = x[i]^2; false), 1:2); sum(copy(b)) end, [1.0, 2.0]),
    @case("a condition reads what the comprehension writes",
          (buffer, x) -> begin b = buffer(zero(x)); sum([(b[1] += v; v) for v in x if b[1] < 2]) end, [1.0, 2.0, 3.0]),
    @case("duplicate indices, read", (buffer, x) -> begin b = buffer(zero(x)); b[1] = x[1]; b[2] = x[2]; sum(b[[1, 1]]) end, [1.0, 2.0]),
    @case("duplicate indices, write", (buffer, x) -> begin b = buffer(zero(x)); b[[1, 1]] = [x[1], x[2]]; sum(copy(b)) end, [1.0, 2.0]),
    @case("a column by .=", (buffer, x) -> begin b = buffer([zero(x) zero(x)]); b[:, 1] .= x; sum(copy(b)) end, [1.0, 2.0]),
    @case("a view by .=", (buffer, x) -> begin b = buffer(zero(x)); v = view(b, 1:2); v .= 2 .* x; sum(copy(b)) end, [1.0, 2.0]),
    @case("a generator by .=", (buffer, x) -> begin b = buffer(zero(x)); b .= (v^2 for v in x); sum(copy(b)) end, [1.0, 2.0]),
    @case("fill!", (buffer, x) -> begin b = buffer(zero(x)); fill!(b, x[2]); sum(copy(b)) end, [1.0, 2.0]),
    @case("push!, then pop!", (buffer, x) -> begin b = buffer(x); push!(b, x[1]^2); p = pop!(b); p + b[1] end, [1.0, 2.0]),
    @case("scalar loop with read and write",
          (buffer, x) -> begin b = buffer(x); for i in 2:3; b[i] = b[i] * b[i-1]; end; b[3] end, [1.0, 2.0, 3.0]),
    @case("the start of a fold", (buffer, x) -> begin b = buffer(x); foldl(+, x[2:2]; init=x[1]) + 0 * b[1] end, [1.0, 2.0]),
    @case("the pullback is called a second time",
          (buffer, x) -> begin b = buffer(zero(x)); b[1] = x[1]^2; b[1] = b[1] * x[2]; b[1] end, [1.0, 2.0], true),
]

function answer(case, pullback, buffer)
    try
        _, back = pullback(x -> case.run(buffer, x), copy(case.x))
        case.twice && back(1.0)
        show_answer(back(1.0)[1])
    catch error
        first_line = first(split(sprint(showerror, error), '\n'))
        "error: " * first(first_line, 60) * (length(first_line) > 60 ? "…" : "")
    end
end

show_answer(g) = g === nothing ? "`nothing`" : string("`", [isinteger(v) ? Int(v) : v for v in g], "`")

right(case) = show_answer(ForwardDiff.gradient(x -> case.run(copy, x), case.x))

# The first program without a Buffer: Zygote with the rule above.
function over_an_array(x)
    y = dot(x, x)
    addone!(x)
    x[1] + y
end

function print_table(io)
    zygote, ours = pkgversion(Zygote), pkgversion(MutationBridge)
    println(io, "Julia $VERSION, Zygote $zygote, MutationBridge $ours. In the programs `buffer` is `Zygote.bufferfrom`, ",
            "`MutationBridge.Buffer`, and for the right answer `copy`, differentiated by ForwardDiff.\n")
    println(io, "| | program | at | right | Zygote | MutationBridge |\n|---|---|---|---|---|---|")
    x = [1.0, 2.0, 3.0]
    println(io, "| an operand is overwritten, over an `Array` with a rule of ChainRules | `y = dot(x, x); addone!(x); x[1] + y` | `[1, 2, 3]` | ",
            show_answer(ForwardDiff.gradient(over_an_array ∘ copy, x)), " | ", show_answer(Zygote.gradient(over_an_array, copy(x))[1]),
            " | ", answer_over_an_array(x), " |")
    for case in cases
        text = replace(case.text, "|" => "\\|")
        println(io, "| ", case.title, " | `", text, "` | ", show_answer(case.x), " | ", right(case), " | ",
                answer(case, Zygote.pullback, Zygote.bufferfrom), " | ", answer(case, MutationBridge.pullback, MutationBridge.Buffer), " |")
    end
end

function answer_over_an_array(x)
    try
        show_answer(MutationBridge.gradient(over_an_array, copy(x))[1])
    catch error
        "error: " * first(split(sprint(showerror, error), ':'))
    end
end

print_table(stdout)
