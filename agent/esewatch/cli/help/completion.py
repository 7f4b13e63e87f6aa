"""`completion`: the commands and options as a script for the shell's completion."""

import argparse
import sys
from typing import Any

from esefiles.base.command_line import Command, commands_in
from esewatch.cli.bundled import PROGRAMS, ask_for_commands, told_commands
from esewatch.expose.pages.runbooks.runbook_files import Runbooks

SHELLS = ("bash", "zsh", "fish", "powershell")

EXAMPLES = """\
bash:       esewatch completion bash > ~/.local/share/bash-completion/completions/esewatch
zsh:        esewatch completion zsh > ~/.zfunc/_esewatch   (with fpath+=~/.zfunc before compinit)
fish:       esewatch completion fish > ~/.config/fish/completions/esewatch.fish
PowerShell: esewatch completion powershell >> $PROFILE

example: esewatch completion bash"""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser(
        "completion",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(function=print_completion)


def print_completion(options: argparse.Namespace) -> int:
    asked = {name: ask_for_commands(module) for name, module in PROGRAMS.items()}
    commands = []
    for each in commands_in(options.command_line()):
        if each.words in asked:
            commands += told_commands(asked[each.words], each)
        else:
            runbooks = Runbooks().names() if each.words == "runbook" else ()
            commands.append(each._replace(below=(*each.below, *runbooks)))
    sys.stdout.write(_SCRIPTS[options.shell](commands))
    return 0


def _bash(commands: list[Command]) -> str:
    words = "\n".join(
        f'    "{each.words}") words="{" ".join((*each.below, *(o.flag for o in each.options)))}";;'
        for each in commands
    )
    values = "\n".join(
        f'    "{each.words} {option.flag}") words="{" ".join(option.choices)}"; only=1;;'
        for each in commands
        for option in each.options
        if option.choices
    )
    nested = " ".join(each.words for each in commands if each.below and each.words)
    return f"""\
# bash completion of esewatch
_esewatch() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="" words="" only="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -* ]] && continue
    if [[ -z $command ]]; then command="$word"; continue; fi
    case " {nested} " in *" $command "*) command="$command $word";; esac
    break
  done
  case "$command" in
{words}
  esac
  case "$command $before" in
{values}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ -z $only && $cur != -* && -n $command ]] && COMPREPLY+=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _esewatch esewatch
"""


def _zsh(commands: list[Command]) -> str:
    script = _bash(commands)
    return f"#compdef esewatch\nautoload -U +X bashcompinit && bashcompinit\n{script}"


def _fish(commands: list[Command]) -> str:
    lines = ["# fish completion of esewatch", "complete -c esewatch -n __fish_use_subcommand -f"]
    for each in commands:
        first, _, rest = each.words.partition(" ")
        seen = f"-n '__fish_seen_subcommand_from {first}" if first else "-n '__fish_use_subcommand"
        seen += f"; and __fish_seen_subcommand_from {rest}'" if rest else "'"
        lines += [
            f"complete -c esewatch {seen} -a {word}{_fish_help(commands, each, word)}"
            for word in each.below
        ]
        for option in each.options:
            value = f" -xa '{' '.join(option.choices)}'" if option.choices else ""
            value = value or (" -r" if option.takes_value else "")
            said = option.help.replace("\\", "\\\\").replace("'", "\\'")
            lines.append(f"complete -c esewatch {seen} -l {option.flag[2:]}{value} -d '{said}'")
    return "\n".join(lines) + "\n"


def _fish_help(commands: list[Command], parent: Command, word: str) -> str:
    words = f"{parent.words} {word}".strip()
    said = next((each.help for each in commands if each.words == words), "").replace("'", "\\'")
    return f" -d '{said}'" if said else ""


def _powershell(commands: list[Command]) -> str:
    rows = "\n".join(
        f"    '{each.words}' = @({_quoted(*each.below, *(o.flag for o in each.options))})"
        for each in commands
    )
    values = "\n".join(
        f"    '{each.words} {option.flag}' = @({_quoted(*option.choices)})"
        for each in commands
        for option in each.options
        if option.choices
    )
    return f"""\
# PowerShell completion of esewatch
Register-ArgumentCompleter -Native -CommandName esewatch -ScriptBlock {{
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @{{
{rows}
  }}
  $values = @{{
{values}
  }}
  $given = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object {{ $_.Extent.EndOffset -lt $cursorPosition }} | ForEach-Object {{ "$_" }})
  $plain = @($given | Where-Object {{ -not $_.StartsWith('-') }})
  $command = ''
  if ($plain.Count -ge 1) {{ $command = $plain[0] }}
  if ($plain.Count -ge 2 -and $words.ContainsKey("$command $($plain[1])")) {{
    $command = "$command $($plain[1])"
  }}
  $found = $words[$command]
  if ($given.Count -ge 1 -and $values.ContainsKey("$command $($given[-1])")) {{
    $found = $values["$command $($given[-1])"]
  }}
  $found | Where-Object {{ $_ -like "$wordToComplete*" }} | ForEach-Object {{
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }}
}}
"""


def _quoted(*words: str) -> str:
    return ", ".join(f"'{word}'" for word in words)


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish, "powershell": _powershell}
