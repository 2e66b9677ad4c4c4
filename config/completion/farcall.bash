# SPDX-License-Identifier: Apache-2.0
#
# What bash offers for farcall: farcall completion bash
_farcall() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local options=() words=() word
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
      words=(compile serve doctor run call profile ls load unload promote rollback reload sig abi health dump test diff bench top explain token completion help version)
      options=(--help --version)
      ;;
    compile)
      options=(--output= --road= --optimize= --cpu= --batch= --pad= --unchecked --debug --verbose --keep --tools= --help)
      ;;
    serve)
      options=(--optimize= --cpu= --batch= --pad= --open --cache= --verbose --tools= --help)
      ;;
    doctor)
      options=(--tools= --write --json --help)
      ;;
    run)
      options=(--tolerance= --function= --no-native-kernels --module-heap= --parameters= --input= --output= --expected= --print= --repeat= --time --json= --save= --help)
      ;;
    call)
      options=(--server= --ca= --cert= --key= --token= --timeout= --input= --output= --print= --json= --profile --curl --html= --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall sig --timeout=1 2>/dev/null | cut -d'(' -f1 | grep -v '[\]u00')
      ;;
    profile)
      options=(--function= --no-native-kernels --module-heap= --parameters= --server= --ca= --cert= --key= --token= --timeout= --input= --json= --html= --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall sig --timeout=1 2>/dev/null | cut -d'(' -f1 | grep -v '[\]u00')
      ;;
    ls)
      options=(--server= --ca= --cert= --key= --token= --long --json --timeout= --help)
      ;;
    load)
      options=(--server= --ca= --cert= --key= --token= --force --timeout= --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1 | grep -v '[\]u00')
      ;;
    unload)
      options=(--server= --ca= --cert= --key= --token= --timeout= --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1 | grep -v '[\]u00')
      ;;
    promote)
      options=(--server= --ca= --cert= --key= --token= --timeout= --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1 | grep -v '[\]u00')
      ;;
    rollback)
      options=(--server= --ca= --cert= --key= --token= --timeout= --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1 | grep -v '[\]u00')
      ;;
    reload)
      options=(--server= --ca= --cert= --key= --token= --force --timeout= --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1 | grep -v '[\]u00')
      ;;
    sig)
      options=(--function= --no-native-kernels --server= --ca= --cert= --key= --token= --timeout= --json --format= --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall sig --timeout=1 2>/dev/null | cut -d'(' -f1 | grep -v '[\]u00')
      ;;
    abi)
      options=(--text --raw= --cconv= --help)
      ;;
    health)
      options=(--server= --ca= --cert= --key= --token= --timeout= --help)
      ;;
    dump)
      options=(--tools= --function= --kernels --help)
      ;;
    test)
      options=(--tools= --reference= --tolerance= --function= --no-native-kernels --module-heap= --parameters= --input= --json= --help)
      ;;
    diff)
      options=(--no-native-kernels --module-heap= --parameters= --help)
      ;;
    bench)
      options=(--server= --ca= --cert= --key= --token= --timeout= --input= --json= --concurrency= --rate= --duration= --warmup= --oip --verify= --expected= --slo= --steps= --save= --html= --compare --help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall sig --timeout=1 2>/dev/null | cut -d'(' -f1 | grep -v '[\]u00')
      ;;
    top)
      options=(--server= --ca= --cert= --key= --token= --timeout= --once --help)
      ;;
    explain)
      options=(--help)
      [[ $cur == -* ]] || mapfile -t words < <(farcall explain | cut -d' ' -f1)
      ;;
    token)
      options=(--scope= --modules= --help)
      ;;
    completion)
      options=(--help)
      [[ $cur == -* ]] || words=(bash zsh fish)
      ;;
  esac
  [[ $cur != -* ]] || words=("${options[@]}")
  # Bash inserts an offer as it is, so names are quoted; compgen -W would
  # run the commands in them.
  for word in "${words[@]}"; do
    printf -v word %q "$word"
    [[ $word != "$cur"* ]] || COMPREPLY+=("$word")
  done
  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}
complete -o default -F _farcall farcall
