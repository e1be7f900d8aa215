//! What is in a file: encodings, pictures, notebooks.

use super::*;

#[test]
fn encodings_are_shown_as_text_and_binaries_are_not() {
    let mut agent = Agent::new();
    let path = agent.path("f");
    let show = |agent: &mut Agent, bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let output = read(agent, &path);
        (output.is_error, text(&output))
    };
    assert_eq!(show(&mut agent, b"\xef\xbb\xbfa\r\nb"), (false, "     1\ta\n     2\tb".into()));
    assert_eq!(show(&mut agent, b"\xff\xfea\0\n\0\xac\x20"), (false, "     1\ta\n     2\t€".into()));
    let (is_error, text) = show(&mut agent, b"caf\xe9\n");
    assert!(!is_error && text.contains("caf\u{fffd}") && text.contains("Not UTF-8"));
    let (is_error, text) = show(&mut agent, b"\x7fELF\0\0\0");
    assert!(is_error && text.contains("binary file of 7 bytes"), "{text}");
}

#[test]
fn a_picture_comes_as_a_block_and_a_false_one_as_words() {
    let mut agent = Agent::new();
    let path = agent.path("p.png");
    image::RgbImage::new(4, 2).save(&path).unwrap();
    let output = read(&mut agent, &path);
    assert_eq!(output.content[0].to_value()["source"]["media_type"], "image/png");
    assert_eq!(output.data.unwrap()["file"]["dimensions"]["originalWidth"], 4);
    for (content, why) in [(&b"no picture"[..], "no PNG"), (b"%PDF-1.4 nor this", "damaged PDF")] {
        fs::write(&path, content).unwrap();
        let output = read(&mut agent, &path);
        assert!(text(&output).contains(why), "{}", text(&output));
        assert!(output.is_error && output.content.iter().all(|block| block.as_text().is_some()));
    }
    let none = agent.path("no.txt");
    let output = agent.call("Read", json!({"file_path": none, "pages": "1"}));
    assert!(output.is_error);
}

fn notebook() -> Value {
    json!({"cells": [
        {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["# T\n", "x"]},
        {"cell_type": "code", "id": "c", "metadata": {}, "execution_count": 1, "source": "plot()", "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["out\n"]},
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": "bm8=", "text/plain": "fig"}},
            {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[31mred\u{1b}[0m"]}]}],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
}

#[test]
fn a_notebook_is_shown_and_edited_by_cell() {
    let mut agent = Agent::new();
    let path = agent.path("n.ipynb");
    fs::write(&path, notebook().to_string()).unwrap();
    let change = json!({"notebook_path": path, "cell_id": "c", "new_source": "new()"});
    let output = agent.call("NotebookEdit", change.clone());
    fails(&output, "not been read");
    let output = read(&mut agent, &path);
    let text = fine(&output);
    for part in [
        "[cell m: markdown]\n# T\nx\n",
        "[cell c: code]\nplot()\n[output]\nout\n",
        "can't be shown",
        "E: v\nred\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert_eq!(output.data.unwrap()["file"]["cells"][1]["outputs"][0]["text"], "out\n");
    let output = agent.call("NotebookEdit", change);
    fine(&output);
    let data = output.data.unwrap();
    assert_eq!((&data["old_source"], &data["edit_mode"]), (&json!("plot()"), &json!("replace")));
    let insert =
        json!({"notebook_path": path, "new_source": "first", "cell_type": "markdown", "edit_mode": "insert"});
    let output = agent.call("NotebookEdit", insert);
    fine(&output);
    let delete = json!({"notebook_path": path, "new_source": "", "cell_id": "m", "edit_mode": "delete"});
    let output = agent.call("NotebookEdit", delete);
    fine(&output);
    let after: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let sources: Vec<_> =
        after["cells"].as_array().unwrap().iter().map(|cell| cell["source"].clone()).collect();
    assert_eq!(sources, [json!(["first"]), json!("new()")]);
    let output =
        agent.call("NotebookEdit", json!({"notebook_path": path, "new_source": "", "cell_id": "gone"}));
    fails(&output, "there is no cell");
    let output = agent.call("NotebookEdit", json!({"notebook_path": path, "new_source": ""}));
    fails(&output, "`cell_id`");
}
