// A process of its own for conversations.test.ts: makes a conversation, adds to it, answers in it, says what was
// acknowledged, and ends by kill -9 before the database is told the given step.
import type { DatabaseConnection, Dialect, Driver } from 'kysely';
import type { Item } from '../../src/core/item.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createConversations } from '../../src/resources/conversations/service.ts';
import { createResponses } from '../../src/resources/responses/service.ts';
import type { StoreDialect } from '../../src/store/dialects/dialect.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , file, name, step] = process.argv;
if (file === undefined || name === undefined) throw new Error('usage: conversations-child FILE NAME [STEP]');

let isCounting = false;
let steps = 0;
const count = (): void => {
  if (!isCounting) return;
  steps += 1;
  if (steps === Number(step)) process.kill(process.pid, 'SIGKILL');
};

/** The same database, counted: every statement, and every beginning and end of a transaction. */
function counted(dialect: StoreDialect): StoreDialect {
  return {
    ...dialect,
    async open() {
      const opened: Dialect = await dialect.open();
      return {
        createAdapter: () => opened.createAdapter(),
        createIntrospector: (db) => opened.createIntrospector(db),
        createQueryCompiler: () => opened.createQueryCompiler(),
        createDriver: () => countedDriver(opened.createDriver()),
      };
    },
  };
}

/** Through it goes the beginning and the end of a transaction too: they are statements of their connection. */
function countedDriver(driver: Driver): Driver {
  const known = new WeakSet<DatabaseConnection>();
  return {
    init: () => driver.init(),
    destroy: () => driver.destroy(),
    beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
    commitTransaction: (connection) => driver.commitTransaction(connection),
    rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
    releaseConnection: (connection) => driver.releaseConnection(connection),
    async acquireConnection() {
      const connection = await driver.acquireConnection();
      if (known.has(connection)) return connection;
      known.add(connection);
      const execute = connection.executeQuery.bind(connection);
      connection.executeQuery = (query) => {
        count();
        return execute(query);
      };
      return connection;
    },
  };
}

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const item = (id: string): Item => ({ id: `${name}_${id}`, json: JSON.stringify({ id: `${name}_${id}` }) });
const acknowledge = (what: object): void => void process.stdout.write(`${JSON.stringify(what)}\n`);

const store = await openStore({ dialect: counted(sqliteDialect({ file })) });
const conversations = createConversations({ store, clock: systemClock });
const responses = createResponses({ store, clock: systemClock });
isCounting = true;
const { id } = await conversations.create(OWNER, { items: [item('a1'), item('a2')], metadata: new Map() });
acknowledge({ created: id });
await conversations.addItems(OWNER, id, [item('b1'), item('b2')]);
acknowledge({ added: true });
const turn = await responses.begin(OWNER, { id: `resp_${name}`, conversation: id });
await turn.complete({ json: '{}', input: [item('c1'), item('c2')], output: [item('d1'), item('d2')], isStored: true });
acknowledge({ completed: true });
acknowledge({ steps });
await store.close();
