# SPDX-License-Identifier: Apache-2.0
#
# What bash offers for farcall: farcall completion bash
_farcall() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local options='' words=''
  COMPREPLY=()
  # '=' is a word of its own; a file may follow.
  if [[ $cur == = || $prev == = ]]; then
    [[ $cur != = ]] || cur=
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    return
  fi
  local verb=${COMP_WORDS[1]}
  [[ $COMP_CWORD -gt 1 ]] || verb=
  case $verb in
    '')
      words="compile run call ls load unload promote rollback reload sig abi health dump test diff bench top explain completion help version"
      options='--help --version'
      ;;
    compile)
      options="--output= --unchecked --keep --tools= --help"
      ;;
    run)
      options="--function= --no-native-kernels --parameters= --input= --output= --json= --help"
      ;;
    call)
      options="--server= --timeout= --input= --output= --json= --curl --help"
      [[ $cur == -* ]] || words="$(farcall sig --timeout=1 2>/dev/null | cut -d'(' -f1)"
      ;;
    ls)
      options="--server= --long --timeout= --help"
      ;;
    load)
      options="--server= --force --timeout= --help"
      [[ $cur == -* ]] || words="$(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1)"
      ;;
    unload)
      options="--server= --timeout= --help"
      [[ $cur == -* ]] || words="$(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1)"
      ;;
    promote)
      options="--server= --timeout= --help"
      [[ $cur == -* ]] || words="$(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1)"
      ;;
    rollback)
      options="--server= --timeout= --help"
      [[ $cur == -* ]] || words="$(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1)"
      ;;
    reload)
      options="--server= --force --timeout= --help"
      [[ $cur == -* ]] || words="$(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1)"
      ;;
    sig)
      options="--function= --no-native-kernels --server= --timeout= --json --format= --help"
      [[ $cur == -* ]] || words="$(farcall sig --timeout=1 2>/dev/null | cut -d'(' -f1)"
      ;;
    abi)
      options="--text --raw= --cconv= --help"
      ;;
    health)
      options="--server= --timeout= --help"
      ;;
    dump)
      options="--help"
      ;;
    test)
      options="--no-native-kernels --parameters= --help"
      ;;
    diff)
      options="--no-native-kernels --parameters= --help"
      ;;
    bench)
      options="--server= --timeout= --input= --json= --concurrency= --rate= --duration= --warmup= --oip --verify= --expected= --slo= --steps= --save= --html= --compare --help"
      [[ $cur == -* ]] || words="$(farcall sig --timeout=1 2>/dev/null | cut -d'(' -f1)"
      ;;
    top)
      options="--server= --timeout= --once --help"
      ;;
    explain)
      options="--help"
      [[ $cur == -* ]] || words="$(farcall explain | cut -d' ' -f1)"
      ;;
    completion)
      options="--help"
      [[ $cur == -* ]] || words="bash zsh fish"
      ;;
  esac
  [[ $cur != -* ]] || words=$options
  [[ -n $words ]] || return
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}
complete -o default -F _farcall farcall
