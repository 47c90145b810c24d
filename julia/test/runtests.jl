# Runs every *_tests.jl beside this file, or those named by the arguments; the exit status is 1 if any test fails.

using Test

const here = @__DIR__

# A project that has what MutationBridge depends on need not have MutationBridge itself.
Base.find_package("MutationBridge") === nothing && push!(LOAD_PATH, dirname(here))

wanted(file) = isempty(ARGS) || any(name -> startswith(file, name), ARGS)

@testset "MutationBridge" begin
    for file in sort(filter(file -> endswith(file, "_tests.jl") && wanted(file), readdir(here)))
        @testset "$file" begin
            include(joinpath(here, file))
        end
    end
end
