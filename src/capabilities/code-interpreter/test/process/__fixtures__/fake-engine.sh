#!/bin/sh
# A fake container engine, whose containers are files of the folder FAKE_ENGINE. Appends its calls to the file `log` there.
# `run` creates a container as a daemon does: independently of the command, after as many seconds as the file `delay` says.
# `rm` fails as often as the file `failures` has lines.
cd "$FAKE_ENGINE" || exit 1
verb=$1
for last; do :; done
echo "$verb" >>log
case "$verb" in
  run)
    setsid /bin/sh -c "echo creating >>log; sleep $(cat delay); : >container-$last; echo created >>log" </dev/null >/dev/null 2>&1 &
    until [ -e "container-$last" ]; do sleep 0.05; done
    echo running
    while [ -e "container-$last" ]; do sleep 0.05; done
    exit 137
    ;;
  rm)
    if [ -s failures ]; then
      sed -i 1d failures
      exit 1
    fi
    rm -f "container-$last"
    ;;
  ps) ls | sed -n 's/^container-//p' ;;
esac
