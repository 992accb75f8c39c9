//! Programs of authors compile as C and as C++: docs/embed.md, and one that sends text without a cast.

use std::path::Path;
use std::process::Command;

const AUTHOR: &str = r#"
#include <whimbrel.h>
#include <poll.h>
#include <stdio.h>
int main(void){ whimbrel_runtime *r=whimbrel_runtime_new(); whimbrel_config *c=whimbrel_config_new(); whimbrel_config_plaintext(c);
 whimbrel_config_secret(c,"a secret of twenty-six bytes",28);
 whimbrel_socket *s=whimbrel_connect(r,c,"127.0.0.1:6511",5001); struct pollfd p={whimbrel_fd(s),POLLIN,0}; poll(&p,1,-1);
 if(whimbrel_state(s)==0) whimbrel_send(s,"hi",2,150,NULL); char b[2000]; long n; while((n=whimbrel_recv(s,b,sizeof b,NULL))>=0) ;
 fprintf(stderr,"%s\n",whimbrel_last_error()); whimbrel_free(s); whimbrel_config_free(c); whimbrel_runtime_free(r); return 0;}
"#;

#[test]
fn programs_compile_as_c_and_as_cpp() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(top.join("../../docs/embed.md")).expect("the guide");
    let (_, rest) = guide.split_once("```c\n").expect("a program in C");
    let (snippet, _) = rest.split_once("```\n").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    for (name, program) in [("snippet", snippet), ("author", AUTHOR)] {
        for (compiler, suffix) in [("cc", "c"), ("c++", "cpp")] {
            let file = folder.path().join(format!("{name}.{suffix}"));
            std::fs::write(&file, program).expect("a file");
            let made = Command::new(compiler)
                .args(["-fsyntax-only", "-Wall", "-Wextra", "-Wno-misleading-indentation", "-Werror"])
                .arg(format!("-I{}", top.join("include").display()))
                .arg(&file)
                .output()
                .expect("a compiler for C and C++");
            assert!(made.status.success(), "{name}.{suffix}: {}", String::from_utf8_lossy(&made.stderr));
        }
    }
}
