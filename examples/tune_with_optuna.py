"""Let Optuna choose learning rate and dropout by validation loss, through its ask-and-tell interface.

    pip install -c constraints.txt -e '.[tuning]'
    python examples/tune_with_optuna.py              # seconds; too short to learn anything
    python examples/tune_with_optuna.py scale=toy    # some minutes

Test sets are left alone (test=false). A trial whose settings were trained before is not trained again.
"""

import sys

import optuna

import triptych

TRIALS = 4


def main() -> None:
    given = ["model=rnn_luong", "scale=smoke", "test=false", "output=runs/tuned", *sys.argv[1:]]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    for number in range(TRIALS):
        trial = study.ask()
        rate = trial.suggest_float("scale.learning_rate", 3e-4, 1e-2, log=True)
        dropout = trial.suggest_float("model.dropout", 0.0, 0.5, step=0.1)
        run = triptych.train(f"scale.learning_rate={rate:.3g}", f"model.dropout={dropout:.1f}", *given)
        loss = run.result["validation"]["loss"]
        if loss is None:  # the training diverged
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, loss)
        print(f"trial {number + 1}: learning rate {rate:.3g}, dropout {dropout:.1f}: loss {loss}")
    print(f"best: {study.best_params}, loss {study.best_value:.4f}")


if __name__ == "__main__":
    main()
