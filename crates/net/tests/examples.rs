//! The examples run to their ends, and the page shows one of them.

#[path = "../examples/camera.rs"]
mod camera;
#[path = "../examples/echo.rs"]
mod echo;
#[path = "../examples/moving_host.rs"]
mod moving_host;
#[path = "../examples/two_radios.rs"]
mod two_radios;

#[test]
fn the_examples_run_to_their_ends() {
    for (name, result) in [
        ("camera", camera::main()),
        ("echo", echo::main()),
        ("moving_host", moving_host::main()),
        ("two_radios", two_radios::main()),
    ] {
        assert!(result.is_ok(), "{name}: {result:?}");
    }
}

#[test]
fn the_page_shows_the_program_of_the_camera() {
    let (_, program) = include_str!("../examples/camera.rs").split_once("\n\n").expect("a comment first");
    assert!(include_str!("../../../docs/embed.md").contains(&program.replace("pub(crate) ", "")));
}
