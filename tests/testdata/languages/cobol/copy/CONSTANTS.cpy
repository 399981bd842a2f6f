      * Shared by the programs of the ferry.
       01  CONSTANTS.
           05  C-YES                 PIC X VALUE "Y".
           05  C-NO                  PIC X VALUE "N".
       01  C-MAXIMUM                 PIC 9(4) VALUE 9999.
