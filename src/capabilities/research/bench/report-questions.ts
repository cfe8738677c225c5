import type { DocumentationName } from '../../../../bench/setup/documentation.ts';

/** A question whose report is judged by patterns. */
export interface ReportQuestion {
  readonly documentation: DocumentationName;
  readonly question: string;
  /** A sentence is on the topic when it, or the sentence that it depends on, contains one of these terms. */
  readonly topic: RegExp;
  /** Statements that answer the question. Each must stand in one sentence of the report. */
  readonly answers: readonly RegExp[];
}

/** Questions that the selection of sentences was developed with. */
export const DEVELOPMENT_QUESTIONS: readonly ReportQuestion[] = [
  {
    documentation: 'postgresql',
    question: 'How does PostgreSQL prevent transaction ID wraparound, and which settings control it?',
    topic:
      /wraparound|wrap around|freez|frozen|\bXIDs?\b|transaction IDs?|relfrozenxid|datfrozenxid|multixact|anti-wraparound/i,
    answers: [
      /autovacuum_freeze_max_age/,
      /vacuum_freeze_(?:min|table)_age/,
      /two billion|2 billion/i,
      /VACUUM.{0,80}(?:freez|frozen)|(?:freez|frozen).{0,80}VACUUM/i,
    ],
  },
  {
    documentation: 'postgresql',
    question: 'How does the Read Committed isolation level work in PostgreSQL?',
    topic: /read committed|isolation level|committed before the query|snapshot|concurrent|updater|re-evaluated/i,
    answers: [/default isolation level/i, /committed before the query began/i, /(?:updated version|re-evaluated)/i],
  },
  {
    documentation: 'postgresql',
    question: 'How does VACUUM FULL differ from plain VACUUM in PostgreSQL?',
    topic: /vacuum|dead (?:row|tuple)|disk space|reclaim/i,
    answers: [
      /exclusive lock/i,
      /(?:re)?writ\w+ (?:the entire contents|a complete new)|new (?:disk file|version|copy)/i,
      /(?:reuse|re-use)/i,
    ],
  },
  {
    documentation: 'postgresql',
    question: 'How is WAL archiving configured for point-in-time recovery in PostgreSQL?',
    topic: /archiv|\bWAL\b|point-in-time|recovery|base backup|restore/i,
    answers: [/archive_command|archive_library/, /archive_mode/, /wal_level/, /restore_command/],
  },
  {
    documentation: 'python',
    question: 'How does the garbage collector of Python find reference cycles, and how is it controlled?',
    topic: /garbage|collect|reference c(?:ycle|ount)|generation|cyclic|\bgc\b|unreachable/i,
    answers: [
      /gc\.(?:disable|enable|collect|set_threshold)|gc module|automatic collection/i,
      /generation/i,
      /threshold/i,
    ],
  },
  {
    documentation: 'python',
    question: 'What happens when the timeout of a subprocess expires in Python?',
    topic: /timeout|expire|subprocess|child process|kill|TimeoutExpired|communicate/i,
    answers: [/TimeoutExpired/, /killed|kill/i],
  },
  {
    documentation: 'sqlite',
    question: 'How does write-ahead logging work in SQLite, and when does a checkpoint happen?',
    topic: /\bWAL\b|write-ahead|checkpoint|wal-index|wal_/i,
    answers: [
      /1000 pages/i,
      /checkpoint.{0,120}(?:back into|transfer|original database|moved|copied)|(?:transfer|moving|copying|moved).{0,120}checkpoint/i,
      /readers? .{0,30}(?:not|never) block|concurrent/i,
      /wal_autocheckpoint|journal_mode|wal_checkpoint/i,
    ],
  },
  {
    documentation: 'sqlite',
    question: 'How does SQLite determine the affinity of a column, and what are storage classes?',
    topic: /affinit|storage class|datatype|declared type|typing/i,
    answers: [
      /storage class/i,
      /contains the string|"INT"|declared type/i,
      /TEXT.{0,40}NUMERIC.{0,40}INTEGER.{0,40}REAL.{0,40}BLOB|NULL.{0,40}INTEGER.{0,40}REAL.{0,40}TEXT.{0,40}BLOB|five/i,
    ],
  },
  {
    documentation: 'sqlite',
    question: 'What is the maximum size of an SQLite database and the maximum length of a string?',
    topic: /maximum|limit|SQLITE_MAX|largest|terabyte|upper bound/i,
    answers: [
      /281 terabytes|281474976710656|281 ?TB/i,
      /1 billion|1,000,000,000|1000000000/i,
      /SQLITE_MAX_LENGTH|SQLITE_LIMIT_LENGTH/,
    ],
  },
  {
    documentation: 'sqlite',
    question: 'How can corruption of an SQLite database be detected and its data be recovered?',
    topic: /corrupt|recover|integrity_check|quick_check|damage|malformed/i,
    answers: [/integrity_check/i, /quick_check/i, /\.recover|recovery (?:API|extension)|sqlite3_recover/i],
  },
  {
    documentation: 'sqlite',
    question: 'What does VACUUM do in SQLite, and how does auto_vacuum differ from it?',
    topic: /vacuum|freelist|free pages|fragment/i,
    answers: [
      /rebuild/i,
      /temporary (?:database )?file|twice/i,
      /auto.?vacuum.{0,160}(?:does not|not) (?:defragment|compact)|auto.?vacuum.{0,120}fragment/i,
      /incremental_vacuum|incremental/i,
    ],
  },
  {
    documentation: 'git',
    question: 'How does git rebase work, and how are conflicts during a rebase resolved?',
    topic: /rebas|conflict|upstream|reappl|replay/i,
    answers: [/--continue/, /--abort|--skip/, /reappl|replay|re-?apply|applied/i],
  },
  {
    documentation: 'git',
    question: 'What does git stash do, and how are stashed changes restored?',
    topic: /stash/i,
    answers: [
      /stash (?:pop|apply)|\bpop\b|\bapply\b/i,
      /(?:match|revert).{0,40}HEAD|clean working (?:directory|tree)/i,
      /stash list|\blist\b/i,
    ],
  },
  {
    documentation: 'git',
    question: 'How does git bisect find the commit that introduced a bug, and how can it be automated?',
    topic: /bisect|binary search|\bgood\b|\bbad\b|introduced/i,
    answers: [/binary search/i, /bisect run|\brun\b/i, /\b125\b/],
  },
  {
    documentation: 'git',
    question: 'How do the modes of git reset affect the index and the working tree?',
    topic: /reset|--(?:soft|mixed|hard|merge|keep)|index|working tree/i,
    answers: [
      /soft.{0,120}(?:not touch|index)/i,
      /mixed.{0,160}(?:index|default)/i,
      /hard.{0,160}(?:discard|working tree)/i,
    ],
  },
  {
    documentation: 'git',
    question: 'When does git gc prune unreachable objects, and which settings control it?',
    topic: /\bgc\b|garbage|prun|unreachable|loose objects|repack|expire/i,
    answers: [/2 weeks|two weeks/i, /gc\.auto\b/i, /gc\.pruneExpire/i, /reflogExpire|90 days|reflog/i],
  },
];

/** Questions over documentation that nothing was developed with; written before their reports were seen. */
export const JUDGED_QUESTIONS: readonly ReportQuestion[] = [
  {
    documentation: 'apache',
    question:
      'How does name-based virtual hosting select the virtual host of a request in Apache, and which directives configure it?',
    topic: /virtual.?host|ServerName|ServerAlias|vhost|name-based|IP-based|hostname/i,
    answers: [
      /ServerName/,
      /ServerAlias/,
      /first.{0,80}(?:virtual host|vhost|listed)|default.{0,40}(?:virtual host|vhost)/i,
      /IP address/i,
    ],
  },
  {
    documentation: 'apache',
    question: 'How does mod_rewrite apply rules per directory, and what does RewriteBase do?',
    topic: /rewrit|per-directory|htaccess|substitution|pattern|rule/i,
    answers: [
      /RewriteBase/,
      /(?:strip|remov).{0,80}(?:prefix|path)|prefix.{0,80}(?:strip|remov)/i,
      /htaccess|<?Directory>?/i,
    ],
  },
  {
    documentation: 'apache',
    question: 'How can access be restricted by IP address in Apache, and how are several Require directives combined?',
    topic: /requir|access|authoriz|IP address|allow|deny|restrict/i,
    answers: [/Require ip|\bip\b|IP address/i, /RequireAny|RequireAll/, /RequireNone|negat|\bnot\b/i],
  },
  {
    documentation: 'apache',
    question: 'How does the event MPM handle keep-alive connections, and which settings limit its threads?',
    topic: /event|\bMPM|thread|keep-?alive|worker|listener|connection/i,
    answers: [/listener/i, /ThreadsPerChild/, /MaxRequestWorkers/, /AsyncRequestWorkerFactor/],
  },
  {
    documentation: 'apache',
    question: 'How does mod_cache decide whether a response is cached, and how is stale content handled?',
    topic: /cach|stale|fresh|expir|max-age/i,
    answers: [/CacheEnable/, /Cache-Control|no-store|private/i, /stale/i, /CacheDefaultExpire|fresh/i],
  },
  {
    documentation: 'postfix',
    question: 'How does Postfix retry deferred mail, and which parameters control the schedule?',
    topic: /defer|retr(?:y|ies)|queue|backoff|lifetime|undeliver/i,
    answers: [/minimal_backoff_time/, /maximal_backoff_time/, /maximal_queue_lifetime/, /queue_run_delay/],
  },
  {
    documentation: 'postfix',
    question: 'How does postscreen stop spam bots before they reach the SMTP server?',
    topic: /postscreen|zombie|spam|pregreet|greet|DNS[BW]L|(?:allow|deny|black|white|block)list/i,
    answers: [
      /pregreet|greet/i,
      /DNS[BW]L|DNS (?:block|black|white|allow)list/i,
      /(?:temporary|permanent) (?:allow|white)list|cache/i,
    ],
  },
  {
    documentation: 'postfix',
    question: 'How is TLS enabled for incoming mail in Postfix, and how is encryption made mandatory?',
    topic: /TLS|encrypt|certificate|cipher/i,
    answers: [
      /smtpd_tls_security_level/,
      /smtpd_tls_(?:\w*cert_file|chain_files)/,
      /mandatory|"?encrypt"?/,
      /opportunistic|"?may"?/,
    ],
  },
  {
    documentation: 'postfix',
    question: 'How are virtual mailbox domains different from virtual alias domains in Postfix?',
    topic: /virtual|alias|mailbox|hosted/i,
    answers: [
      /virtual_alias_domains|virtual alias domain/i,
      /virtual_mailbox_domains|virtual mailbox domain/i,
      /virtual_mailbox_base|virtual_mailbox_maps|own mailbox/i,
    ],
  },
  {
    documentation: 'postfix',
    question:
      'How can Postfix restrict which clients may relay mail, and in which order are the restrictions evaluated?',
    topic: /relay|restrict|permit|reject|access|mynetworks|authoriz/i,
    answers: [
      /smtpd_relay_restrictions/,
      /smtpd_recipient_restrictions/,
      /permit_mynetworks|mynetworks/,
      /in the order|order as|evaluat|left to right|first (?:restriction|match)/i,
    ],
  },
];
