"""Printouts of SMF 115 and 116 as the programs MQ1150, MQ1160 and MQ116S gave them, for every level since.

A printout reads section objects and nothing else, so it lives beside the sections and not among the reports: it needs
no tables and no Spark.

Rules
  P1  Labels, units and column order are those of MP1B where MP1B knows the structure: microseconds in MQ116S and for
      coupling facility calls, milliseconds for Db2 and for the CPU of MQ1160, averages cut to whole units.
  P2  What a structure gained later follows MP1B's rows. A field that no row names prints under the meaning that its
      declaration gives, so a new field cannot be lost.
  P3  An absent field prints as `-` or its row is left out, never as 0. A value that means "not set" prints as `-`.
  P4  A figure of 0 prints in the rows of MP1B; rows that MP1B leaves out when they are all zero, and all rows of P2,
      print only when something in them is not zero.
  P5  Times are readable: UTC first, then local time with the record's own zone offset.

`figures` formats one value, `forms` lays out rows, one module per program or group of structures holds the forms,
`programs` chooses the form of a record, `plain` is the same content for machines, `layouts` shows declarations.
"""
