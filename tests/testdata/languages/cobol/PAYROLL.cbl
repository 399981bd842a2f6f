      * Computes the pay of a month.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. PAYROLL.
       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT WORK-FILE ASSIGN TO "WORK.DAT".
       DATA DIVISION.
       FILE SECTION.
       FD WORK-FILE.
       01 WORK-RECORD.
          05 WR-NUMBER PIC 9(6).
          05 WR-HOURS PIC 9(3)V99.
       WORKING-STORAGE SECTION.
       01 WS-TOTALS.
          05 WS-PAY PIC 9(7)V99 VALUE ZERO.
          05 WS-COUNT PIC 9(4).
       01 WS-RATE PIC 9(3)V99 VALUE 25.50.
       77 WS-DONE PIC X VALUE "N".
          88 IS-DONE VALUE "Y".
       PROCEDURE DIVISION.
       MAIN-PARA.
           PERFORM OPEN-FILES.
           PERFORM READ-ONE UNTIL IS-DONE.
           PERFORM CLOSE-FILES.
           STOP RUN.
       OPEN-FILES.
           OPEN INPUT WORK-FILE.
      * Reads one record and adds its pay.
       READ-ONE.
           READ WORK-FILE
               AT END MOVE "Y" TO WS-DONE
           END-READ.
           PERFORM ADD-PAY.
       ADD-PAY.
           COMPUTE WS-PAY = WS-PAY + WR-HOURS * WS-RATE.
           ADD 1 TO WS-COUNT.
           IF WS-COUNT > 100
               DISPLAY "PERFORM NOTHING"
           END-IF.
       CLOSE-FILES.
           CLOSE WORK-FILE.
           DISPLAY WS-PAY.
