/** `paraphrase`: the source says it. The others name what the sentence changes, so that the source does not say it. */
export type ClaimKind = 'paraphrase' | 'number' | 'negation' | 'subject' | 'neighbor' | 'opposite';

/** Sentences about one statement of a documentation page. */
export interface ClaimCase {
  readonly documentation: 'postgresql' | 'python';
  /** Name of the page's file without its ending. */
  readonly page: string;
  /** Words of the statement, with which the page is checked. */
  readonly quote: string;
  readonly claims: readonly (readonly [kind: ClaimKind, sentence: string])[];
}

export const CLAIM_CASES: readonly ClaimCase[] = [
  {
    documentation: 'postgresql',
    page: 'transaction-iso',
    quote: 'sees only data committed before the query began',
    claims: [
      [
        'paraphrase',
        'In Read Committed mode, a SELECT query sees only data that was committed before the query began.',
      ],
      ['paraphrase', 'A plain SELECT in Read Committed never sees uncommitted data.'],
      ['subject', 'In Repeatable Read mode, a SELECT query sees only data that was committed before the query began.'],
      ['opposite', 'A SELECT query in Read Committed sees only data committed after the query began.'],
      ['negation', 'A SELECT query does not see a snapshot of the database as of the instant the query begins to run.'],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'transaction-iso',
    quote: 'the second updater can proceed with updating the originally found row',
    claims: [
      [
        'paraphrase',
        'When the first updater rolls back, the second updater can go on and update the originally found row.',
      ],
      ['paraphrase', 'If the first updater deleted the row and commits, the second updater ignores the row.'],
      ['neighbor', 'If the first updater rolls back, the second updater proceeds with the updated version of the row.'],
      [
        'subject',
        'If the second updater rolls back, the first updater can proceed with updating the originally found row.',
      ],
      ['neighbor', 'If the first updater commits, its effects are negated.'],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'transaction-iso',
    quote: 'the row that is locked and returned to the client',
    claims: [
      ['paraphrase', 'SELECT FOR UPDATE locks the updated version of the row and returns it to the client.'],
      [
        'paraphrase',
        'The WHERE clause is evaluated again to check whether the updated version of the row still matches.',
      ],
      ['neighbor', 'SELECT FOR UPDATE locks the originally found row and returns it to the client.'],
      ['negation', 'SELECT FOR UPDATE does not return the updated version of the row to the client.'],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'routine-vacuuming',
    quote: 'VACUUM FULL actively compacts tables',
    claims: [
      [
        'paraphrase',
        'VACUUM FULL compacts a table by writing a complete new version of the table file without dead space.',
      ],
      ['paraphrase', 'VACUUM FULL needs extra disk space for the new copy of the table until the operation completes.'],
      [
        'subject',
        'The standard form of VACUUM compacts tables by writing a complete new version of the table file with no dead space.',
      ],
      ['opposite', 'VACUUM FULL maximizes the size of the table, but can take a long time.'],
      ['negation', 'VACUUM FULL does not require extra disk space for the new copy of the table.'],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'routine-vacuuming',
    quote: 'marks the space available for future reuse',
    claims: [
      [
        'paraphrase',
        'The standard form of VACUUM removes dead row versions and marks their space as available for future reuse.',
      ],
      ['paraphrase', 'Standard VACUUM usually does not return the space to the operating system.'],
      ['neighbor', 'VACUUM FULL removes dead row versions and marks the space available for future reuse.'],
      ['opposite', 'The standard form of VACUUM returns the space to the operating system.'],
      [
        'subject',
        'DELETE removes dead row versions in tables and indexes and marks the space available for future reuse.',
      ],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'routine-vacuuming',
    quote: 'will automatically issue ANALYZE commands',
    claims: [
      [
        'paraphrase',
        'If it is enabled, the autovacuum daemon issues ANALYZE automatically when the content of a table has changed sufficiently.',
      ],
      ['paraphrase', 'The autovacuum daemon will never issue VACUUM FULL.'],
      [
        'neighbor',
        'The autovacuum daemon automatically issues VACUUM FULL commands when the content of a table has changed sufficiently.',
      ],
      [
        'opposite',
        'If disabled, the autovacuum daemon automatically issues ANALYZE commands when the content of a table has changed.',
      ],
      [
        'negation',
        'The autovacuum daemon will not issue ANALYZE commands when the content of a table has changed sufficiently.',
      ],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'routine-vacuuming',
    quote: 'removes the entire content of the table immediately',
    claims: [
      ['paraphrase', 'TRUNCATE immediately removes the whole content of a table and needs no VACUUM afterwards.'],
      ['paraphrase', 'With TRUNCATE, strict MVCC semantics are violated.'],
      ['subject', 'DELETE removes the entire content of the table immediately, without requiring a subsequent VACUUM.'],
      ['negation', 'TRUNCATE does not violate strict MVCC semantics.'],
      ['opposite', 'TRUNCATE removes the entire content of the table eventually.'],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'explicit-locking',
    quote: 'Conflicts with the ACCESS EXCLUSIVE lock mode only',
    claims: [
      ['paraphrase', 'SELECT acquires an ACCESS SHARE lock on the tables that it references.'],
      ['paraphrase', 'A transaction never conflicts with itself.'],
      ['paraphrase', 'An ACCESS EXCLUSIVE lock cannot be held by more than one transaction at a time.'],
      ['subject', 'An ACCESS SHARE lock cannot be held by more than one transaction at a time.'],
      ['neighbor', 'An ACCESS EXCLUSIVE lock can be held by multiple transactions.'],
      ['opposite', 'A transaction always conflicts with itself.'],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'runtime-config-autovacuum',
    quote: 'relatively low 200 million transactions',
    claims: [
      [
        'paraphrase',
        'The default is a relatively low 200 million transactions, because vacuum also allows old files to be removed from pg_xact.',
      ],
      [
        'paraphrase',
        'The system launches autovacuum processes to prevent wraparound even when autovacuum is disabled.',
      ],
      ['number', 'The default is a relatively low 300 million transactions.'],
      ['number', 'The default is a relatively low 200 thousand transactions.'],
      [
        'negation',
        'The system will not launch autovacuum processes to prevent wraparound when autovacuum is disabled.',
      ],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'runtime-config-autovacuum',
    quote: 'The default is one minute (1min)',
    claims: [
      ['paraphrase', 'autovacuum_naptime specifies the minimum delay between autovacuum runs on any given database.'],
      ['paraphrase', 'If autovacuum_naptime is given without units, it is taken as seconds.'],
      ['opposite', 'autovacuum_naptime specifies the maximum delay between autovacuum runs on any given database.'],
      ['number', 'If autovacuum_naptime is given without units, it is taken as milliseconds.'],
      ['subject', 'autovacuum_max_workers specifies the minimum delay between autovacuum runs on any given database.'],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'runtime-config-autovacuum',
    quote: 'needed to trigger a VACUUM in any one table',
    claims: [
      [
        'paraphrase',
        'autovacuum_vacuum_threshold is the minimum number of updated or deleted tuples that triggers a VACUUM in a table.',
      ],
      ['paraphrase', 'With -1, autovacuum does not trigger a VACUUM on any table because of the number of inserts.'],
      [
        'opposite',
        'autovacuum_vacuum_threshold is the maximum number of updated or deleted tuples needed to trigger a VACUUM in any one table.',
      ],
      ['number', 'By default, 70 updated or deleted tuples are needed to trigger a VACUUM in any one table.'],
      [
        'negation',
        'If -1 is specified, autovacuum will trigger a VACUUM operation on any tables based on the number of inserts.',
      ],
    ],
  },
  {
    documentation: 'postgresql',
    page: 'runtime-config-autovacuum',
    quote: 'the maximum number of autovacuum processes',
    claims: [
      [
        'paraphrase',
        'autovacuum_max_workers is the maximum number of autovacuum processes that may run at the same time, without the launcher.',
      ],
      ['paraphrase', 'The parameter autovacuum_max_workers can only be set at server start.'],
      [
        'opposite',
        'autovacuum_max_workers specifies the minimum number of autovacuum processes that may be running at any one time.',
      ],
      ['neighbor', 'autovacuum_max_workers can be set in the postgresql.conf file without a server start.'],
      ['number', 'By default, five autovacuum processes may be running at any one time.'],
    ],
  },
  {
    documentation: 'python',
    page: 'threading',
    quote: 'any thread may release it',
    claims: [
      ['paraphrase', 'A primitive lock may be released by any thread.'],
      ['paraphrase', 'After a thread has acquired a lock, further attempts to acquire it block until it is released.'],
      ['neighbor', 'A primitive lock must be released by the thread that acquired it.'],
      ['negation', 'Once a thread has acquired a lock, subsequent attempts to acquire it do not block.'],
      ['opposite', 'Attempts to acquire a lock block until it is acquired.'],
    ],
  },
  {
    documentation: 'python',
    page: 'threading',
    quote: 'A reentrant lock must be released by the thread that acquired it',
    claims: [
      ['paraphrase', 'The thread that acquired a reentrant lock has to release it.'],
      ['paraphrase', 'A thread that holds a reentrant lock may acquire it again without blocking.'],
      ['neighbor', 'A reentrant lock may be released by any thread.'],
      ['negation', 'A reentrant lock may not be acquired again by the same thread without blocking.'],
      ['opposite', 'A reentrant lock must be acquired by the thread that released it.'],
    ],
  },
  {
    documentation: 'python',
    page: 'threading',
    quote: 'It is created in the unlocked state',
    claims: [
      ['paraphrase', 'A primitive lock is created in the unlocked state.'],
      ['paraphrase', 'Releasing an unlocked lock raises a RuntimeError.'],
      ['opposite', 'A primitive lock is created in the locked state.'],
      ['neighbor', 'An attempt to release a locked lock raises a RuntimeError.'],
      ['subject', 'The acquire() method should only be called in the locked state.'],
    ],
  },
  {
    documentation: 'python',
    page: 'threading',
    quote: 'wakes up all threads waiting for the condition variable',
    claims: [
      ['paraphrase', 'notify_all() wakes up every thread that is waiting for the condition variable.'],
      ['paraphrase', 'The methods notify() and notify_all() do not release the lock.'],
      ['neighbor', 'The notify() method wakes up all threads waiting for the condition variable.'],
      ['negation', 'The notify() and notify_all() methods release the lock.'],
      ['opposite', 'wait() acquires the lock, and then blocks until another thread awakens it.'],
    ],
  },
  {
    documentation: 'python',
    page: 'threading',
    quote: 'A timeout argument of -1 specifies an unbounded wait',
    claims: [
      ['paraphrase', 'With a timeout of -1, the wait is unbounded.'],
      ['paraphrase', 'A timeout must not be given when blocking is False.'],
      ['number', 'A timeout argument of 0 specifies an unbounded wait.'],
      ['opposite', 'A timeout argument of -1 specifies a bounded wait.'],
      ['negation', 'It is not forbidden to specify a timeout when blocking is False.'],
    ],
  },
  {
    documentation: 'python',
    page: 'subprocess',
    quote: 'the child process will be killed and waited for',
    claims: [
      ['paraphrase', 'When the timeout expires, the child process is killed and waited for.'],
      ['paraphrase', 'TimeoutExpired is raised again after the child process has terminated.'],
      ['opposite', 'The TimeoutExpired exception will be re-raised before the child process has terminated.'],
      ['negation', 'If the timeout expires, the child process will not be killed.'],
      ['neighbor', 'If the timeout expires, a CalledProcessError exception will be raised.'],
    ],
  },
  {
    documentation: 'python',
    page: 'subprocess',
    quote: 'exits with a non-zero exit code',
    claims: [
      ['paraphrase', 'With check set to true, a non-zero exit code of the process raises CalledProcessError.'],
      ['paraphrase', 'The exception has the arguments, the exit code, and stdout and stderr if they were captured.'],
      [
        'opposite',
        'If check is true and the process exits with a zero exit code, a CalledProcessError exception will be raised.',
      ],
      [
        'opposite',
        'If check is false, and the process exits with a non-zero exit code, a CalledProcessError exception will be raised.',
      ],
      [
        'subject',
        'If check is true, and the process exits with a non-zero exit code, a TimeoutExpired exception will be raised.',
      ],
    ],
  },
  {
    documentation: 'python',
    page: 'subprocess',
    quote: 'By default, file objects are opened in binary mode',
    claims: [
      ['paraphrase', 'File objects are opened in binary mode by default.'],
      ['paraphrase', 'universal_newlines means the same as text and exists for backwards compatibility.'],
      ['neighbor', 'By default, file objects are opened in text mode.'],
      ['negation', 'By default, file objects are not opened in binary mode.'],
      [
        'subject',
        'The universal_newlines argument is equivalent to encoding and is provided for backwards compatibility.',
      ],
    ],
  },
  {
    documentation: 'python',
    page: 'subprocess',
    quote: 'indicates that the child was terminated by signal',
    claims: [
      ['paraphrase', 'An exit status of 0 typically means that the child ran successfully.'],
      ['paraphrase', 'A negative returncode -N means that signal N terminated the child on POSIX.'],
      ['number', 'Typically, an exit status of 1 indicates that it ran successfully.'],
      ['opposite', 'A positive value indicates that the child was terminated by a signal.'],
      ['neighbor', 'A negative value indicates that the child ran successfully.'],
    ],
  },
  {
    documentation: 'python',
    page: 'gc',
    quote: 'New objects are placed in the youngest generation',
    claims: [
      ['paraphrase', 'The garbage collector places new objects in the youngest generation, generation 0.'],
      ['paraphrase', 'An object that survives a collection moves into the next older generation.'],
      ['opposite', 'New objects are placed in the oldest generation.'],
      ['number', 'The GC classifies objects into five generations.'],
      ['opposite', 'If an object survives a collection it is moved into the next younger generation.'],
    ],
  },
  {
    documentation: 'python',
    page: 'gc',
    quote: 'Setting threshold0 to zero disables collection',
    claims: [
      ['paraphrase', 'Collection is disabled when threshold0 is set to zero.'],
      ['paraphrase', 'A collection starts when allocations minus deallocations exceed threshold0.'],
      ['opposite', 'Setting threshold0 to zero enables collection.'],
      [
        'neighbor',
        'When the number of deallocations minus the number of allocations exceeds threshold0, collection starts.',
      ],
      ['subject', 'Setting threshold1 to zero disables collection.'],
    ],
  },
  {
    documentation: 'python',
    page: 'gc',
    quote: 'you can disable the collector if you are sure your program does not create reference cycles',
    claims: [
      ['paraphrase', 'The collector can be disabled if a program certainly creates no reference cycles.'],
      ['paraphrase', 'gc.disable() turns automatic garbage collection off.'],
      ['paraphrase', 'Without arguments, gc.collect() runs a full collection.'],
      ['opposite', 'Automatic collection can be enabled by calling gc.disable().'],
      ['negation', 'You can disable the collector if you are sure your program does create reference cycles.'],
      ['subject', 'Automatic collection can be disabled by calling gc.set_debug().'],
    ],
  },
];
