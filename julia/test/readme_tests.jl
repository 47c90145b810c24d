# Every example of the package's README prints what the page says.

module ReadmeTests

using Test

const README = read(joinpath(@__DIR__, "..", "README.md"), String)
const PROGRAM_AND_OUTPUT = r"```julia\n(.*?)```(?:\n\nIt prints:\n\n```\n(.*?)```)?"s

"""What a program prints, run in a module of its own, as a user's script is."""
function printed(program)
    path = tempname()
    home = Module()
    open(path, "w") do file
        redirect_stdout(() -> Base.include_string(home, program, "README.md"), file)
    end
    return read(path, String)
end

@testset "README: example $k" for (k, found) in enumerate(eachmatch(PROGRAM_AND_OUTPUT, README))
    program, expected = found.captures
    @test expected !== nothing
    @test printed("using MutationBridge\n" * program) == expected
end

@test length(collect(eachmatch(PROGRAM_AND_OUTPUT, README))) == 2

end
