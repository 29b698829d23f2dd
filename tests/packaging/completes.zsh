#!/usr/bin/zsh -f
# SPDX-License-Identifier: GPL-2.0
# completes.zsh LINE WANTED: zsh makes WANTED of LINE when Tab is typed behind it. Completion needs a
# terminal, so there is one; until WANTED is on it this waits.
zmodload zsh/zpty
zpty shell 'PS1= TERM=dumb exec zsh -f -i'
zpty -w shell 'autoload -U compinit; compinit -u -d /tmp/zcompdump; unsetopt zle_bracketed_paste; print re""ady'
zpty -r shell seen '*ready*' || exit
zpty -w -n shell "$1"$'\t'
zpty -r shell seen "*$2*"
