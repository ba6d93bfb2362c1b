//! Questions about when parameters, fields and other members of code came and went: told by the versions of its files.

use crate::{
    ask_changes::{ask, facts},
    support::{Fixture, Sandbox},
};

#[test]
fn a_type_or_default_of_a_parameter_is_no_parameter() {
    let mut project = Fixture::new();
    let mut declare = |author: &str, parameters: &str, title: &str| {
        let text = format!("def fetch({parameters}):\n    return locals()\n");
        project.write("src/net.py", text);
        project.author(author, &format!("{author}@example.com"));
        project.commit_all(title);
    };
    declare("Ada", "url, retries=3", "Begin");
    declare("Ann", "url, retries=3, timeout=None", "Wait no longer than asked");
    declare("Bo", "url: str, retries: int = 3, timeout: float | None = None", "Add types");
    declare("Bo", "url: str, retries: int = 3, timeout: float | None = 30.0", "Add a default timeout");
    declare("Cy", "url: str, timeout: float | None = 30.0", "Try once");
    project.write("src/types.py", "class Options:\n    timeout: float = 1.0\n");
    project.commit_all("Add types of options");
    let sandbox = Sandbox::indexed(&project);
    for question in ["When was the parameter `timeout` added to `fetch`?", "Who added the timeout argument of fetch()?"]
    {
        let said = facts(&sandbox, question);
        assert!(said.starts_with("Ann added ") && said.contains(" (src/net.py#fetch) on "), "{question}: {said}");
    }
    let said = facts(&sandbox, "Who removed the `retries` parameter of `fetch`?");
    assert!(said.starts_with("Cy removed retries parameter (src/net.py#fetch) on "), "{said}");
    let answer = ask(&sandbox, "When was the `timeout` parameter removed from `fetch`?");
    assert_ne!(answer["method"], "facts", "{answer:#}");
    assert!(answer.to_string().contains("'timeout' is there now: src/net.py#fetch"), "{answer:#}");
}

#[test]
fn what_a_branch_still_had_when_it_was_merged_is_not_there() {
    let mut project = Fixture::new();
    let net = |parameters: &str, call: &str| format!("def fetch({parameters}):\n    return 1\n\n\n{call}");
    let call = "def check(url):\n    return fetch(url, timeout=2)\n";
    project.write("src/net.py", net("url, timeout=3", ""));
    let begin = project.commit_all("Begin");
    project.author("Bo", "bo@example.com");
    project.write("src/net.py", net("url", ""));
    project.commit_all("Wait for nothing");
    project.author("Cy", "cy@example.com");
    project.git(["switch", "--quiet", "--create", "side", &begin.to_string()]);
    project.write("src/net.py", net("url, timeout=3", call));
    let side = project.commit_all("Check addresses");
    project.switch("main");
    project.write("src/net.py", net("url", call)).git(["add", "--all"]);
    project.commit_index("Merge the checks", &[side]);
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who removed the `timeout` parameter of `fetch`?");
    assert!(said.starts_with("Bo removed timeout parameter (src/net.py#fetch) on "), "{said}");
}

#[test]
fn what_went_with_its_file_is_gone_whatever_a_branch_still_changed_in_it() {
    let mut project = Fixture::new();
    let client = |timeout: u8| {
        format!(
            "class Client:\n    timeout = {timeout}\n\n    def fetch(self, url):\n        return ask(url, {timeout})\n"
        )
    };
    project.write("src/ask.py", "def ask(url, timeout):\n    return url.read(timeout)\n");
    project.write("src/net.py", client(3));
    let begin = project.commit_all("Begin");
    project.author("Bo", "bo@example.com");
    project.remove("src/net.py");
    project.commit_all("Drop what nobody calls");
    project.author("Cy", "cy@example.com");
    project.git(["switch", "--quiet", "--create", "side", &begin.to_string()]);
    project.write("src/net.py", client(5));
    let side = project.commit_all("Wait longer");
    project.switch("main");
    project.commit_index("Merge the side", &[side]);
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who removed `Client.timeout`?");
    assert!(said.starts_with("Bo removed Client.timeout (src/net.py#Client.timeout) on "), "{said}");
}

/// What cannot be read as source code may have had it.
#[test]
fn an_addition_is_not_told_where_an_earlier_version_cannot_be_read() {
    let mut project = Fixture::new();
    let rest = "    return ask(url)\n\n\ndef ask(url):\n    return url.read()\n\n\ndef close(socket):\n    return 1\n";
    let net = |parameters: &str| format!("def fetch({parameters}):\n{rest}");
    project.write("src/net.tpl", net("url, timeout=3"));
    project.commit_all("Begin");
    project.write("src/net.tpl", net("url"));
    project.commit_all("Wait for nothing");
    project.remove("src/net.tpl");
    project.write("src/net.py", net("url"));
    project.commit_all("Write it as it is");
    project.author("Di", "di@example.com");
    project.write("src/net.py", net("url, timeout=5, proxy=None"));
    project.commit_all("Ask another one");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who added the `proxy` parameter of `fetch`?");
    assert!(said.starts_with("Di added proxy parameter (src/net.py#fetch) on "), "{said}");
    let answer = ask(&sandbox, "Who added the `timeout` parameter of `fetch`?");
    assert_ne!(answer["method"], "facts", "{answer:#}");
}

#[test]
fn the_declaration_of_a_field_is_not_its_addition() {
    let mut project = Fixture::new();
    let mut declare = |author: &str, fields: &str, parameters: &str, title: &str| {
        let text = format!(
            "class Option:\n    \"\"\"What is asked for may be hidden.\"\"\"\n{fields}\n    def __init__({parameters}):\n        \
             self.name = name\n        self.values = locals()\n\n    def show(self, width):\n        return width\n"
        );
        project.write("src/options.py", text);
        project.author(author, &format!("{author}@example.com"));
        project.commit_all(title);
    };
    declare("Ada", "", "self, name", "Begin");
    declare("Ann", "", "self, name, hidden=False", "Let the help be shorter");
    declare("Bo", "    name: str\n    hidden: bool\n", "self, name, hidden=False", "Annotate attributes");
    declare("Cy", "    name: str\n", "self, name, hidden=False", "Annotate less");
    let sandbox = Sandbox::indexed(&project);
    for question in [
        "When was the `hidden` option added?",
        "When was `Option.hidden` added?",
        "When was `hidden` added to Option?",
        "When was the `hidden` parameter added to Option?",
    ] {
        let said = facts(&sandbox, question);
        assert!(said.starts_with("Ann added ") && said.contains(" Let the help be shorter"), "{question}: {said}");
    }
    let said = facts(&sandbox, "When was `Option.name` added?");
    assert!(said.starts_with("Ada added ") && said.contains(" Begin"), "{said}");
    let answer = ask(&sandbox, "When was `Option.hidden` removed?");
    assert_ne!(answer["method"], "facts", "{answer:#}");
    assert!(answer.to_string().contains("'Option.hidden' is there now: src/options.py#Option.hidden"), "{answer:#}");
    // A parameter of another function.
    assert_ne!(ask(&sandbox, "When was `width` added to Option?")["method"], "facts");
}

#[test]
fn what_was_taken_from_one_function_is_not_gone() {
    let mut project = Fixture::new();
    let declare = |project: &mut Fixture, author: &str, made: &str, run: &str, title: &str| {
        let text = format!(
            "class Runner:\n    def __init__(self, {made}):\n        self.kept = locals()\n\n    def run(self, {run}):\n        \
             return self.kept\n"
        );
        project.write("src/runner.py", text);
        project.author(author, &format!("{author}@example.com"));
        project.commit_all(title);
    };
    declare(&mut project, "Ada", "mix_output=True, old_mode=1", "mix_output=True", "Begin");
    let title = "Remove unused mix_output parameter from Runner.run";
    declare(&mut project, "Ann", "mix_output=True, old_mode=1", "text", title);
    declare(&mut project, "Bo", "mix_output=True", "text", "Remove old_mode");
    let sandbox = Sandbox::indexed(&project);
    assert!(facts(&sandbox, "Who removed old_mode?").starts_with("Bo removed old_mode on "));
    let answer = ask(&sandbox, "When was mix_output removed?");
    assert_ne!(answer["method"], "facts", "{answer:#}");
    let said =
        "nothing says that 'mix_output' was removed everywhere: src/runner.py still had it after commit acme/shop@";
    assert!(answer.to_string().contains(said), "{answer:#}");
    let said = facts(&sandbox, "Who removed the mix_output parameter from Runner.run?");
    assert!(said.starts_with("Ann removed "), "{said}");
    declare(&mut project, "Cy", "mode=1", "text", "Keep outputs apart");
    project.write(
        "CHANGES.md",
        "# Changelog\n\n## 2.0 - 2024-06-10\n\n- Keep outputs apart. Removes the `mix_output` parameter in `Runner`.\n\n\
         ## 1.1 - 2023-06-10\n\n- Remove the unused `mix_output` parameter from `Runner.run`.\n",
    );
    project.commit_all("List changes");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "In which release was mix_output removed?");
    assert!(said.starts_with("mix_output was removed in version 2.0 of 2024-06-10, as "), "{said}");
}

#[test]
fn what_was_added_to_a_definition_is_not_what_another_one_has() {
    let mut project = Fixture::new();
    project.write(
        "src/a.py",
        "class Command:\n    def help(self):\n        return 1\n\n\nclass Argument:\n    rows = 1\n",
    );
    project.commit_all("Begin");
    project.write(
        "src/a.py",
        "class Command:\n    def help(self):\n        return 1\n\n\nclass Argument:\n    rows = 1\n\n    def show(self):\n        \
         return 2\n",
    );
    project.author("Bo", "bo@example.com");
    project.commit_all("Show arguments");
    let sandbox = Sandbox::indexed(&project);
    assert_ne!(ask(&sandbox, "When was `help` added to Argument?")["method"], "facts");
    assert!(facts(&sandbox, "When was `help` added to Command?").contains("(src/a.py#Command.help)"));
    let said = facts(&sandbox, "When was `show` added to Argument?");
    assert!(said.starts_with("Bo added show (src/a.py#Argument.show) on "), "{said}");
}

#[test]
fn overloads_of_a_function_are_one() {
    let mut project = Fixture::new();
    let plain = "def edit(text, editor=None):\n    return text, editor\n";
    project.write("edit.py", plain);
    project.commit_all("Edit texts");
    project.remove("edit.py");
    project.write("src/edit.py", plain);
    project.commit_all("Move the sources");
    project.write(
        "src/edit.py",
        "@overload\ndef edit(text: str, editor: str = ...) -> str: ...\n\n\n@overload\ndef edit(text: bytes, editor: str = ...) -> \
         bytes: ...\n\n\ndef edit(text, editor=None):\n    return text, editor\n",
    );
    project.author("Bo", "bo@example.com");
    project.commit_all("Add types");
    let sandbox = Sandbox::indexed(&project);
    for question in ["When was the `editor` parameter added to `edit`?", "When was the function edit added?"] {
        let said = facts(&sandbox, question);
        assert!(said.contains(" Edit texts") && said.lines().count() == 1, "{question}: {said}");
    }
}
