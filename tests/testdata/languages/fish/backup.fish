#!/usr/bin/env fish
# Copies directories to a disk.

source (status dirname)/lib/disks.fish
source ~/.config/fish/places.fish

set -g backup_keep 14
set -gx BACKUP_DISK /mnt/backup
set --local ignored '*.tmp'
alias bk 'backup_all --quiet'
abbr -a bkl backup_list

# Copies one directory.
function backup_one --description 'Copies a directory' -a source target
    set -l name (basename $source)
    if not test -d $source
        echo "no directory $source; function not_code" >&2
        return 1
    end
    function __backup_progress --no-scope-shadowing
        echo (math $done / $total)
    end
    rsync -a --exclude=$ignored $source/ $target/$name-(date +%F)
    set backup_last $name
end

function backup_all
    argparse q/quiet -- $argv
    or return
    for place in $backup_places
        backup_one $place $BACKUP_DISK
        or echo 'failed: $place' >&2
    end
    backup_prune $backup_keep
end

function backup_prune -a keep
    set -l all (backup_list)
    if test (count $all) -gt $keep
        for old in $all[1..(math (count $all) - $keep)]
            rm -r $BACKUP_DISK/$old
        end
    end
end

function backup_list
    ls $BACKUP_DISK | string match -r '^.*-\d{4}'
end

function backup-mount --on-event backup_start
    if disk_is_mounted $BACKUP_DISK
        return 0
    end
    switch (uname)
        case Linux
            mount $BACKUP_DISK
        case '*'
            echo "mount it yourself: $BACKUP_DISK"
    end
end

if status is-interactive
    function backup_prompt
        echo "last: $backup_last"
    end
end

complete -c backup_all -s q -l quiet
backup_all $argv
