// The completion scripts. Each asks `capt __complete` for what may come next: one candidate per line, a tab and its
// description behind it; `:files` asks the shell for files.

export const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

const BASH = `# Completion of capt for bash: source <(capt completion bash)
_capt() {
  local line candidates
  COMPREPLY=()
  candidates="$("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" || return 0
  while IFS= read -r line; do
    [ "$line" = ":files" ] && return 0
    [ -n "$line" ] && COMPREPLY+=("\${line%%$'\\t'*}")
  done <<< "$candidates"
  [ "\${#COMPREPLY[@]}" -eq 1 ] && [ "\${COMPREPLY[0]: -1}" = "=" ] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _capt capt
`

const ZSH = `#compdef capt
# Completion of capt for zsh: source <(capt completion zsh), or a file _capt on the fpath.
_capt() {
  local line name
  local -a candidates
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ "$line" == ":files" ]] && { _files; return }
    [[ -z "$line" ]] && continue
    name="\${line%%$'\\t'*}"
    if [[ "$line" == *$'\\t'* ]]; then
      candidates+=("\${name//:/\\\\:}:\${line#*$'\\t'}")
    else
      candidates+=("\${name//:/\\\\:}")
    fi
  done
  _describe 'capt' candidates
}
if [[ "\${funcstack[1]}" == "_capt" ]]; then _capt "$@"; else compdef _capt capt; fi
`

const FISH = `# Completion of capt for fish: capt completion fish | source
function __capt_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    if test "$found[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c capt -f -a '(__capt_complete)'
`

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH }
