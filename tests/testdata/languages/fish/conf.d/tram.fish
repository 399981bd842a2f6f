# Commands for the tram depot.
# function commented; end

status is-interactive; or exit

set -g tram_lines 4 7 12
set -gx TRAM_HOME $HOME/tram
set -Ux TRAM_COLOR blue
set --global --export TRAM_LONG 'set -g fake 1'
set -q TRAM_PORT; or set -g TRAM_PORT 8080
set -l tram_local 1
set tram_plain (count $tram_lines)
set -a tram_lines 15
set --append PATH ~/bin
set -p fish_function_path $TRAM_HOME/functions
set -e tram_old
set tram_lines[1] 5
set -g tram_multi one \
    two \
    three
set -gx EDITOR vim; set -g tram_second 2
set

alias tr 'tram list'
alias ts='tram show'
alias --save tq "tram quit"
alias tram-go 'cd $TRAM_HOME; and ls'
abbr tl 'tram list'
abbr --add ta tram add
abbr -a --position anywhere --function expand_bang !!
abbr --add tg --set-cursor 'git %'
bind \ct tram_toggle
complete -c tram -n '__fish_use_subcommand' -a list -d 'function fake'
complete --command tram --short-option v

function tram -d 'Does things with trams' --wraps ls
    argparse h/help 'n/number=' -- $argv; or return
    switch $argv[1]
        case list ls
            __tram_list
        case 'show'
            __tram_show $argv[2..]
        case '*'
            echo "function unknown; end" >&2
            return 1
    end
end

function __tram_list; echo $tram_lines; end
function __tram_show --argument-names line depot --description "Shows a line"
    set -l color $TRAM_COLOR
    for each in $tram_lines
        if test $each = $line
            set_color $color
            echo "$each at $depot: $(count $tram_lines)"
        else if string match -q 'x*' -- $each
            continue
        else
            begin
                set -l inner 1
                function __tram_nested
                    true
                end
            end
        end
    end
    while read -l row
        set -g tram_last $row
    end <$TRAM_HOME/rows
end

function fish_prompt --description 'Write out the prompt'
    printf '%s> ' (prompt_pwd)
end
function 'quoted name'
end
function "double quoted"; end
function tram.dotted
end
function tram:colon --on-variable TRAM_COLOR
end
function on_exit --on-event fish_exit --inherit-variable tram_lines
    tram quit
end
function !bang
end
function + ; math $argv; end
function long_head \
    --description 'On several lines' \
    --argument-names a b
    echo $a
end
if status is-login
    function tram_login
        source $TRAM_HOME/login.fish
    end
else
    function tram_other; end
end
switch (uname)
    case Darwin
        function tram_mac
        end
end
begin; function in_begin; end; end
for tool in a b
    function loop_function; end
end
not functions -q tram_lazy; and function tram_lazy
    echo lazy
end
functions -c tram tram_copy
funcsave tram
functions --erase tram_old

source $TRAM_HOME/config.fish
source (dirname (status --current-filename))/helper.fish
. ~/.config/tram.fish
test -f local.fish; and source local.fish
if test -d x
    source conf/x.fish
end
eval (tram env)
tram list | source
exec fish

echo 'a string with
function in_string
end
' | cat
echo (function_name; echo x)
set -g tram_after 1
