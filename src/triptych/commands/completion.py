"""``triptych completion bash``: the script with which a shell completes triptych's command lines."""

from __future__ import annotations

from triptych.config.completion import SHELLS, completions
from triptych.errors import UserError

BASH = """\
_triptych() {
    local line="${COMP_LINE:0:COMP_POINT}" word found prefix
    local -a words
    read -ra words <<< "$line"
    case "$line" in *[[:space:]]) words+=("") ;; esac
    word="${words[${#words[@]}-1]}"
    COMPREPLY=()
    while IFS= read -r found; do COMPREPLY+=("$found"); done \\
        < <(triptych completion words "${words[@]:1}" 2>/dev/null)
    prefix="${word%"${word##*[=:]}"}"  # bash completes what follows = and :, and from @ on
    case "${word#"$prefix"}" in *@*) prefix="${word%@*}" ;; esac
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
    case "${COMPREPLY[0]-}" in *[=./]) compopt -o nospace ;; esac
}
complete -F _triptych triptych
"""
ZSH = """\
_triptych() {
    local -a found
    found=("${(@f)$(triptych completion words "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -S '' -- ${(M)found:#*[=./]}
    compadd -- ${found:#*[=./]}
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _triptych triptych
"""
USAGE = """\
usage: triptych completion bash|zsh

Print a script that completes commands, keys, options and folders of runs. Put
into ~/.bashrc or ~/.zshrc:

    eval "$(triptych completion bash)"
"""
SCRIPTS = dict(zip(SHELLS, (BASH, ZSH), strict=True))


def main(arguments: list[str]) -> int:
    """Print the script of a shell; or, with ``words``, what its script offers in the place of the last word.

    Raises:
        UserError: no such shell.
    """
    shell, *words = arguments or [""]
    if shell == "words":
        from triptych.commands.cli import COMMANDS

        print("\n".join(completions(words, COMMANDS)))
        return 0
    if shell not in ("", "-h", "--help", *SHELLS):
        raise UserError(f"there is no completion for {shell}; choose one of {', '.join(SHELLS)}.")
    print(SCRIPTS.get(shell, USAGE), end="")
    return 0
