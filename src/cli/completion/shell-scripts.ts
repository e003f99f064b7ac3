// The scripts that make a shell complete command lines of `agent`: verbs and flags stand in them, and for names they ask
// `agent __complete`, which asks the running agent.

import { allCommands, type ShellCommand } from "./command-tree.ts";
import { commandCandidate, flagCandidate, type Candidate } from "./complete-words.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export function isShell(word: string): word is Shell {
  return (SHELLS as readonly string[]).includes(word);
}

export function completionScript(shell: Shell, program: ShellCommand): string {
  switch (shell) {
    case "bash":
      return [BASH_HEAD, posixPart(program), BASH].join("\n");
    case "zsh":
      return [ZSH_HEAD, posixPart(program), ZSH].join("\n");
    case "fish":
      return [FISH_HEAD, fishPart(program), FISH].join("\n");
  }
}

/** Functions that bash, zsh and dash read alike. */
function posixPart(program: ShellCommand): string {
  const commands = allCommands(program);
  const groups = commands.filter(({ below }) => below.length > 0);
  return `# Prints the verbs, or the flags ($2), that may follow the command $1: lines of a word, a tab and what it means.
__agent_words() {
    case "$1 $2" in
${commands.flatMap(wordCases).join("\n")}
    esac
}

# Prints what may stand in place of the last argument.
__agent_candidates() {
    local command=agent before= current= others= seen= word
    for word in "$@"; do
        if [ -n "$seen" ]; then
            before=$current
            case "$command $current" in
                *' --') return ;;
${commands.flatMap(pathCases).join("\n")}
                *) others=1 ;;
            esac
        fi
        current=$word
        seen=1
    done
    case "$before $current" in
        -*) ;;
        *' '-*=*) ;;
        *' '-*) __agent_words "$command" flags; return ;;
        *)
            case "$others$command" in
                ${groups.map(({ path }) => quoted(path)).join("|")})
                    __agent_words "$command" verbs
                    return
                    ;;
            esac
            ;;
    esac
    agent __complete -- "$@" 2>/dev/null
}
`;
}

function wordCases(command: ShellCommand): readonly string[] {
  const { path, flags, below } = command;
  const lines = (kind: string, all: readonly Candidate[]): string => {
    const words = all.map(({ word, about }) => quoted(`${word}\t${about}`));
    return `        ${quoted(`${path} ${kind}`)}) printf '%s\\n' ${words.join(" ")} ;;`;
  };
  return [
    lines("flags", flags.map(flagCandidate)),
    ...(below.length === 0 ? [] : [lines("verbs", below.map(commandCandidate))]),
  ];
}

/** A word that leads to a command below another one. */
function pathCases({ path, below }: ShellCommand): readonly string[] {
  return below.map(({ words, path: under }) => {
    const patterns = words.map((word) => quoted(`${path} ${word}`)).join("|");
    return `                ${patterns}) command=${quoted(under)} ;;`;
  });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const BASH_HEAD = `# bash completion of agent.
# For this shell: source <(agent completion bash)
# For every shell: agent completion bash | sudo tee /etc/bash_completion.d/agent
`;

/** Readline divides words at `:` and `=`; the agent does not. The package bash-completion is not needed. */
const BASH = `_agent() {
    local current done glued= i line word
    local -a words=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        if [[ \${#words[@]} -gt 0 && ( -n $glued || $word == [:=]* ) ]]; then
            words[\${#words[@]} - 1]+=$word
            glued=
        else
            words+=("$word")
        fi
        if [[ $word == *[:=] ]]; then glued=1; fi
    done
    current=\${words[\${#words[@]} - 1]}
    # What readline keeps of the word: all up to its last : or =.
    done=\${current%"\${current##*[:=]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        word=\${line%%$'\\t'*}
        if [[ $line == :files ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "\${current#"$done"}")
        elif [[ $word == "$current"* ]]; then
            COMPREPLY+=("\${word#"$done"}")
        fi
    done < <(__agent_candidates "\${words[@]}")
    # A short flag is whole as it is.
    if [[ \${#COMPREPLY[@]} -eq 0 && $current == -[a-zA-Z] ]]; then COMPREPLY=("$current"); fi
    if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[:=/.] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}

complete -F _agent agent
`;

const ZSH_HEAD = `#compdef agent
# zsh completion of agent.
# For this shell, after compinit: source <(agent completion zsh)
# For every shell: agent completion zsh > "\${fpath[1]}/_agent"
`;

const ZSH = `_agent() {
    local -a whole begun
    local line word
    while IFS= read -r line; do
        word=\${line%%$'\\t'*}
        if [[ $line == :files ]]; then
            _files
            continue
        fi
        # _describe divides the word and its meaning at the first colon.
        line=\${line//:/\\\\:}
        line=\${line/$'\\t'/:}
        if [[ $word == *[:=/.] ]]; then begun+=("$line"); else whole+=("$line"); fi
    done < <(__agent_candidates "\${(@)words[2,CURRENT]}")
    (( \${#begun} )) && _describe -t agent agent begun -S ''
    (( \${#whole} )) && _describe -t agent agent whole
    return 0
}

if [ "\${funcstack[1]}" = _agent ]; then
    _agent "$@"
else
    compdef _agent agent
fi
`;

const FISH_HEAD = `# fish completion of agent.
# For this shell: agent completion fish | source
# For every shell: agent completion fish > ~/.config/fish/completions/agent.fish
`;

/** Whether the words before are those of a command, and no other ones. */
function fishPart(program: ShellCommand): string {
  const verbs = program.below.map(commandCandidate);
  const lines = verbs.map(
    ({ word, about }) =>
      `complete -c agent -n __agent_begins -f -a ${fishQuoted(word)} -d ${fishQuoted(about)}`,
  );
  return `function __agent_begins
    set -l words (commandline -opc)
    test (count $words) -eq 1
end

${lines.join("\n")}
`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}

const FISH = `function __agent_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -e words[1]
    for line in (agent __complete -- $words "$current" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$current"
        else
            printf '%s\\n' $line
        end
    end
end

complete -c agent -n 'not __agent_begins' -f -a '(__agent_candidates)'
# Flags of the program itself, which come before a verb.
complete -c agent -n '__agent_begins; and string match -q -- "-*" (commandline -ct)' -f -a '(__agent_candidates)'
`;
