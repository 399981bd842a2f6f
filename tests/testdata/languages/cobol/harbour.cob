      >>SOURCE FORMAT IS FREE
*> A program in free format. PROGRAM-ID. NOT-THIS.
identification division.
program-id. harbour.
data division.
working-storage section.
01 ws-tide pic 9(4).
01 ws-name pic x(20) value 'quay. 05 fake pic x.'.
   05 ws-part pic 9.
procedure division.
main-paragraph.
    perform compute-tide
    perform 3 times
        display "again"
    end-perform
    call 'moorings' using ws-tide
    stop run.
*> Computes the tide.
compute-tide.
    compute ws-tide = ws-tide + 1.
last-paragraph.
    exit program.
end program harbour.

identification division.
program-id. second-program.
procedure division.
only-paragraph.
    goback.
end program second-program.
