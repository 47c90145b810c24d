# What Aqua asks of a package: exports exist, dependencies are used and bounded, no piracy; no call is ambiguous; JET finds no call
# that has no method; and the examples of docstrings and pages print what they say.

module QualityTests

using MutationBridge, Test
import ChainRulesCore

# A thunk is unthunked before any function of ours is called. In FillArrays' place Zygote has a function's arguments, not a style.
mentions(m::Method, name) = occursin(name, string(m.sig))
is_never_called(one, other) =
    any(m -> mentions(m, "AbstractThunk") && parentmodule(m) === ChainRulesCore, (one, other)) ||
    any(m -> mentions(m, "AbstractFill") && nameof(parentmodule(m)) === :Zygote, (one, other))

@testset "no ambiguous methods" begin
    found = filter(pair -> !is_never_called(pair...), Test.detect_ambiguities(MutationBridge; recursive = true))
    foreach(pair -> @info("ambiguous", pair), found)
    @test isempty(found)
end

@testset "unbound type parameters" begin
    @test isempty(Test.detect_unbound_args(MutationBridge; recursive = true))
end

if Base.find_package("Aqua") === nothing
    @info "quality_tests.jl: Aqua's own questions are left out, since it is not in this project: Pkg.add(\"Aqua\"), or Pkg.test()"
else
    using Aqua
    Aqua.test_all(MutationBridge; ambiguities = false, unbound_args = false, persistent_tasks = false)
end

# What JET reports depends on Julia's inference: it is sorted for one version.
if Base.find_package("JET") === nothing || VERSION >= v"1.11-"
    @info "quality_tests.jl: JET's analysis is left out, which needs Julia 1.10 and JET in this project: Pkg.add(\"JET\"), or Pkg.test()"
else
    using JET

    # `@non_differentiable` writes rules with keywords for functions that have none.
    is_from_macro(report) = any(report.vst) do frame
        occursin(r"typeof\(ChainRulesCore.(frule|rrule)\)", string(frame.linfo.def.sig)) && frame.file === :none
    end
    # Its methods are in the package extension of DifferentiationInterface, which is asked for only where they are.
    is_of_extension(report) = report isa JET.MethodErrorReport && occursin(r"MutationBridge\.backend\), Val\}", string(report.t))

    @testset "JET" begin
        found = JET.get_reports(JET.report_package(MutationBridge; target_defined_modules = true, toplevel_logger = nothing))
        filter!(report -> !is_from_macro(report) && !is_of_extension(report), found)
        foreach(report -> @info("JET", report), found)
        @test isempty(found)
    end
end

const WANTED_BY_EXAMPLES = filter(name -> Base.find_package(name) === nothing, ["Documenter", "DifferentiationInterface", "Mooncake"])

if !isempty(WANTED_BY_EXAMPLES)
    @info "quality_tests.jl: the examples of docstrings and pages are left out, since $(join(WANTED_BY_EXAMPLES, ", ", " and ")) \
        $(length(WANTED_BY_EXAMPLES) == 1 ? "is" : "are") not in this project: Pkg.add($WANTED_BY_EXAMPLES), or Pkg.test()"
else
    using Documenter
    DocMeta.setdocmeta!(MutationBridge, :DocTestSetup, :(using MutationBridge); recursive = true)
    doctest(MutationBridge)
end

end
