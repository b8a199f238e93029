"""A user's mistake gives one clear sentence, a non-zero exit, no traceback, and no run folder."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest
from conftest import compose_train, triptych, triptych_process
from made_runs import make_run

from triptych.commands import cli
from triptych.config.explanations import explain
from triptych.config.validation import check
from triptych.errors import UserError


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for split in ("train", "val", "test"):
        for language in ("en", "fr"):
            (folder / f"{split}.{language}").write_text("".join(f"word{i} {language}\n" for i in range(50)))
    (folder / "short.fr").write_text("un\n")
    (folder / "short.en").write_text("one\ntwo\n")
    (folder / "bad.en").write_text("one\n")
    (folder / "bad.fr").write_bytes(b"un\n"[:2] + b"\xff\xfe\n")
    return folder


TEXT = ["data=text", "data.src=en", "data.tgt=fr"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["model=lm4mt", "model.num_layer=3"], ["model.num_layer", "did you mean model.num_layers?"]),
        (["model=transformr"], ["model=transformr", "transformer_base"]),
        (["steps=200"], ["steps is no configuration key", "did you mean budget.steps?"]),
        (["lr=0.1"], ["lr is no configuration key; did you mean optimizer.schedule.peak?"]),
        (["optimizer=noam", "optimizer.lr=0.1"], ["did you mean optimizer.schedule.factor?"]),
        (["epochs=3"], ["did you mean budget.epochs?", "budget.steps=null budget.epochs=10"]),
        (["device=cuda"], ["strategy=cpu, single_gpu"]),
        (["strategy.device=1"], ["did you mean strategy.devices?"]),
        (
            ["optimizer.lrr=1"],
            ["optimizer.lrr is no configuration key; optimizer has optimizer, weight_decay, schedule."],
        ),
        (["optimizer.warmupp=1"], ["did you mean optimizer.schedule.warmup?"]),
        (["valid=x"], ["data.validation", "validation.every"]),
        (["data.dev=x"], ["data.validation"]),
        (["batch_size=32"], ["did you mean batch.tokens?"]),
        (["hidden_size=64"], ["did you mean model.d_model?"]),
        (["model=rnn", "hidden_size=64"], ["did you mean model.hidden_size?"]),
        (["patience=3"], ["callbacks.early_stopping.patience=3"]),
        (
            ["tokenizer=char", "tokenizer.bpe_dropout=0.1"],
            ["tokenizer=char lacks it, and tokenizer=bpe has it: choose that, or leave the key out."],
        ),
        (["model.input_feeding=true"], ["the chosen model lacks it", "model=rnn"]),
        (["lm4mt"], ["lm4mt has no =; did you mean model=lm4mt?"]),
        (["batch=32"], ["batch has keys of its own; give one of batch.tokens, batch.accumulate, batch.per_step."]),
        (["train=a.en"], ["data=text data.src=en data.tgt=de 'data.train=[FILE,FILE]'"]),
        (["data.split=0.1"], ["data.validation=0.02"]),
        (["test_split=0.1"], ["data.test=0.02"]),
        ([*TEXT, "data.test=60"], ["data.test=60 must be a number above 0 and below 1."]),
        ([""], ["an argument is empty", "give key=value, or take it away"]),
        (["~budget"], ["~budget: budget cannot be left out; take ~budget away, or give it other values."]),
        (["~loss"], ["~loss: loss cannot be left out"]),
        (["~scale"], ["~scale: scale cannot be left out"]),
        (["~test"], ["~test: test cannot be left out"]),
        (["~budget.steps"], ["~budget.steps: budget.steps cannot be left out"]),
        (["~optimizer.schedule"], ["~optimizer.schedule: optimizer.schedule cannot be left out"]),
        (["~optimizer.schedule.peak"], ["optimizer.schedule.peak=… must be given."]),
        (["~name"], ["~name: name has nothing that could be left out; take ~name away."]),
        (["~study.name"], ["~study.name: study.name has nothing that could be left out"]),
        (["~logger"], ["~logger: logger is a list; give what shall be in it, logger=[…]."]),
        (["~bugdet"], ["bugdet is no configuration key; did you mean budget?"]),
        (["--config-name=x"], ["--config-name=x is no option of train", "--config-dir=FOLDER", "experiment=NAME"]),
        (["checkpoint.average=100"], ["checkpoint.average=100", "lower checkpoint.average or validation.every."]),
        (["checkpoint.keep=100"], ["checkpoint.keep=100", "lower checkpoint.keep or validation.every."]),
        (["checkpoint.average=3", "checkpoint.keep=2"], ["lower checkpoint.average, or raise checkpoint.keep."]),
        (["--lr", "0.1"], ["--lr is no option of train; did you mean lr=…?"]),
        ([*TEXT, "data.train=nothing"], ["nothing"]),
        ([*TEXT, "data.train=short"], ["short.en", "2", "1"]),
        ([*TEXT, "data.train=bad"], ["bad.fr:1", "UTF-8"]),
        (["data=multi30k", "data.tgt=xx"], ["xx", "cs"]),
        (["model=transformer", "model.num_heads=3"], ["model.num_heads=3", "divisible"]),
        (["loss=unknown"], ["loss=unknown", "decayed"]),
        ([*TEXT, "tokenizer.vocab_size=30000"], ["tokenizer.vocab_size=30000", "at most"]),
        (["search.beam_size=0"], ["search.beam_size=0", "at least 1"]),
        (["search.length_penalty=best"], ["search.length_penalty=best", "or tuned"]),
        (["search.stop=never"], ["search.stop=never", "exact or first"]),
        (["metric=[]"], ["metric=[]", "metric=[bleu]"]),
        (["+trainer.max_steps=5"], ["trainer.max_steps", "budget"]),
        (["+trainer.precison=16"], ["trainer.precison cannot be set", "profiler"]),
        (["trainer.gradient_clip_val=-1"], ["trainer.gradient_clip_val=-1", "above 0"]),
        (["name=a/b"], ["name=a/b", "letters"]),
        (["search.n_best=4"], ["search.n_best=4", "triptych translate"]),
        (["study={nam: x}"], ["study"]),
        (["study=mine"], ["study"]),
        (["budget.epochs=3"], ["budget.steps", "exactly one"]),
        (["batch.tokens=5"], ["batch.tokens=5"]),
        (["loss=decayed", "loss.autoencode.alpha=2"], ["loss.autoencode.alpha=2"]),
        (["seed=many"], ["seed=many must be an integer."]),
        (["budget.steps=ten"], ["budget.steps=ten must be an integer."]),
        (["=3"], ["=3", "no such file"]),
        (["arm=post"], ["arm=post is unknown; choose one of normalization/post."]),
        (["arm=nothing"], ["arm=nothing is unknown", "table3/…"]),
        (["model=3"], ["model=3: there is no such file"]),
        (["cache=/dev/null/cache"], ["cache=/dev/null/cache cannot", "give cache=FOLDER, a folder that can."]),
        (["cache=/proc/cache"], ["cache=/proc/cache cannot be written, because of /proc;"]),
        (["model.encoder_layers=0"], ["model.encoder_layers=0", "at least 1"]),
        (["optimizer.schedule.warmup=-3"], ["optimizer.schedule.warmup=-3", "at least 0"]),
        (["optimizer.optimizer.betas=[2,3]"], ["optimizer", "beta"]),
        (["output=/dev/null/runs"], ["output=/dev/null/runs cannot be written", "give output=FOLDER"]),
        (["seed=-1"], ["seed=-1", "at least 0"]),
        (["strategy.compile=maybe"], ["strategy.compile=maybe", "true, false or null"]),
        (["strategy.workers=-1"], ["strategy.workers=-1", "at least 0"]),
        (["length_edges=[20,10]"], ["length_edges=[20, 10]", "ascending"]),
        (["suite_items=-1"], ["suite_items=-1", "at least 0"]),
        (["frequency_edges=[6,1]"], ["frequency_edges=[6, 1]", "ascending"]),
        (["data=toy_zipf", "data.stems=9"], ["data.stems=9", "at least"]),
        (["data=text", "data.src=en", "data.tgt=fr", "suite_items=5"], ["suite_items=5", "no suites"]),
        (["strategy.accelerator=tpu"], ["strategy", "accelerator=tpu"]),
        (["strategy.devices=auto"], ["strategy.devices=auto", "integer"]),
        (["strategy.precision=32"], ["strategy.precision=32 is unknown", "32-true"]),
        (["strategy.precision=16-mixed"], ["strategy.precision=16-mixed", "bf16-mixed"]),
        (["~model._target_"], ["model has no _target_", "conf/model"]),
        (["seed=1,2"], ["seed", "-m"]),
        (["strategy.precision=fp8"], ["strategy", "precision=fp8"]),
        (["checkpoint.monitor=bleu", "validation.bleu_every=2"], ["checkpoint.monitor=bleu", "bleu_every"]),
        (["model.positions=learned", "model.max_length=16"], ["model.max_length=16", "positions"]),
        (["data=text", "data.tgt=fr"], ["data.src=…", "must be given"]),
        (["model=rnn", "model.attention=luong", "model.score=cosine"], ["cosine", "scaled_dot"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and "=" in value[-1] else "",
)
def test_training_refuses(
    arguments: list[str],
    words: list[str],
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = [f"data.dir={files}"] if "data=text" in arguments else []
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # on a busy machine it would be said how many threads there are
    monkeypatch.chdir(tmp_path)
    cache = [] if any(one.startswith("cache=") for one in arguments) else ["cache=cache"]
    monkeypatch.setattr("sys.argv", ["triptych", "train", "scale=smoke", *cache, *arguments, *where])
    status, said = cli.main(), capsys.readouterr().err
    assert status == 2
    assert said.startswith("triptych: ")
    assert len(said.strip().splitlines()) == 1
    assert all(word in said for word in words), said
    assert not list((tmp_path / "runs").glob("[!.]*"))


def test_the_exit_status_is_that_of_the_mistake(tmp_path: Path) -> None:
    done = triptych_process("train", "model=lm4mt", "model.num_layer=3", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert "did you mean model.num_layers?" in done.stderr


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_a_run_that_does_not_exist(command: str, tmp_path: Path) -> None:
    done = triptych(command, "run=nowhere", *(["split=test"] if command == "evaluate" else []), cwd=tmp_path)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert "run=nowhere is no run folder" in done.stderr


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_a_folder_of_runs_names_some(command: str, tmp_path: Path) -> None:
    names = [f"arm{number}" for number in range(7)]
    for name in names:
        (tmp_path / "sweep" / name).mkdir(parents=True)
        (tmp_path / "sweep" / name / "run.json").touch()
    done = triptych(command, "run=sweep", *(["split=test"] if command == "evaluate" else []), cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    said = f"run=sweep is a folder of runs; choose one, such as run=sweep/{names[0]}: {', '.join(names[:5])} … (of 7)."
    assert said in done.stderr


def test_no_file_of_a_run_is_written_over(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", "a")
    (tmp_path / "text").write_text("a dog\n")
    before = (run / "config.yaml").read_bytes()
    words = ["translate", "run=demo:transformer", "input=text"]
    done = triptych(*words, f"output={run}/config.yaml", cwd=tmp_path)
    assert (done.returncode, (run / "config.yaml").read_bytes()) == (2, before)
    assert "config.yaml is there already, in the folder of a run, and may be a file of it; give another." in done.stderr
    assert triptych(*words, f"output={run}/mine.txt", cwd=tmp_path).returncode == 0


def test_a_reference_to_no_key(tmp_path: Path) -> None:
    done = triptych("translate", "run=${nope}", cwd=tmp_path, stdin="")
    assert done.stderr == "triptych: run=${nope} refers to nope, which is no key; give a value.\n"


@pytest.mark.parametrize("device", ["nope", "cuda:99", "meta"])
def test_a_device_that_is_not_there_names_those_that_are(device: str, tmp_path: Path) -> None:
    said = triptych("translate", "run=demo:lm4mt", f"device={device}", cwd=tmp_path, stdin="a dog\n").stderr
    assert re.fullmatch(rf"triptych: device={device} is not there( \(.*\))?; this machine has cpu.*\.\n", said)


def test_a_home_without_a_cache_names_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc")
    for command in ("train", "forecast"):
        said = triptych(command, "scale=smoke", cwd=tmp_path).stderr
        assert said.startswith("triptych: cache=/proc/.cache/triptych cannot be written, because of /proc; give cache=")


def test_a_current_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr("sys.argv", ["triptych", "train", "scale=smoke"])
    with pytest.raises(UserError, match=r"the current folder has been removed; change to one that exists: cd FOLDER\."):
        cli._run()


@pytest.mark.parametrize("command", ["train", "evaluate", "report", "demo"])
def test_every_command_knows_its_version(command: str, tmp_path: Path) -> None:
    assert triptych(command, "--version", cwd=tmp_path).stdout == triptych("--version", cwd=tmp_path).stdout


def test_a_command_that_resembles_another(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in ("lst", "did you mean list?"), ("xyzzy", "choose one of demo, train"):
        monkeypatch.setattr("sys.argv", ["triptych", name])
        with pytest.raises(UserError, match=re.escape(f"'{name}' is no command; {said}")):
            cli._run()


def test_a_folder_without_its_key_gets_it(tmp_path: Path) -> None:
    assert "did you mean run=runs/x?" in triptych("translate", "runs/x", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.d_model=abc", "model.d_model=abc must be an integer."),
        ("model.encoder_layers=1.5", "model.encoder_layers=1.5 must be an integer."),
        ("model.d_k=wide", "model.d_k=wide must be an integer or null."),
        ("model.bias=1", "model.bias=1 must be true or false."),
        ("loss.label_smoothing=true", "loss.label_smoothing=true must be a number."),
        ("optimizer.schedule.warmup=[1]", "optimizer.schedule.warmup=[1] must be an integer."),
        ("validation.search.beam_size=many", "validation.search.beam_size=many must be an integer."),
    ],
)
def test_a_value_of_another_type_is_named(override: str, message: str) -> None:
    with pytest.raises(UserError) as refused:
        check(compose_train("scale=smoke", override))
    assert str(refused.value) == message


def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "runs", "model=rnn")
    (tmp_path / "file").touch()
    monkeypatch.setattr(
        "sys.argv", ["triptych", "report", str(tmp_path / "runs"), "--keep", str(tmp_path / "file" / "folder")]
    )
    assert cli.main() == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_a_name_does_not_command_the_terminal(tmp_path: Path) -> None:
    done = triptych("translate", "run=\x1b]0;title\x07", cwd=tmp_path)
    assert done.returncode == 2
    assert "?]0;title?" in done.stderr
    assert "\x1b" not in done.stderr


def test_too_many_open_files_are_what_is_said() -> None:
    """What failed because of them was said instead."""
    error = RuntimeError("something later")
    error.__context__ = OSError(errno.EMFILE, "Too many open files", "x")
    said = "too many files are open; allow more (ulimit -n 4096), or lower strategy.workers and jobs."
    assert explain(error) == explain(error.__context__) == said


def test_a_key_that_is_given_twice_is_pointed_out(tmp_path: Path) -> None:
    words = ["translate", "run=demo:transformer", "search=beam", "search.beam_size=2", "search=greedy"]
    done = triptych(*words, cwd=tmp_path, stdin="The cat.\n")
    assert done.returncode == 0
    assert done.stderr == "triptych: search is given more than once, and the last counts: search=greedy.\n"


def test_an_empty_output_is_no_folder(tmp_path: Path) -> None:
    """The run was trained into the current folder."""
    done = triptych("train", "scale=smoke", "output=''", cwd=tmp_path)
    assert done.returncode == 2
    assert "output= is empty; give a value" in done.stderr
    done = triptych("export", "run=demo:transformer", "output=", cwd=tmp_path)
    assert done.returncode == 2
    assert "output= is empty; give a value" in done.stderr
    assert not [*tmp_path.iterdir()]


def test_a_launcher_that_is_not_installed_is_named_with_what_brings_it(tmp_path: Path) -> None:
    done = triptych("train", "-m", "seed=1,2", "scale=smoke", "hydra/launcher=nosuch", cwd=tmp_path)
    assert done.returncode == 2
    assert "the launcher nosuch is not installed; pip install -e '.[cluster]' for Slurm" in done.stderr
