// Child process of conversations.test.ts: creates a conversation, adds items, completes a turn, prints each acknowledged
// change, and kills itself before the database executes the given step.
import type { DatabaseConnection, Dialect, Driver } from 'kysely';
import type { Item } from '../../src/core/item.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createConversations } from '../../src/resources/conversations/service.ts';
import { createResponses } from '../../src/resources/responses/service.ts';
import type { StoreDialect } from '../../src/store/dialects/dialect.ts';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , file, name, step] = process.argv;
if (file === undefined || name === undefined) throw new Error('usage: conversations-child FILE NAME [STEP]');

let isCounting = false;
let steps = 0;
const countStep = (): void => {
  if (!isCounting) return;
  steps += 1;
  if (steps === Number(step)) process.kill(process.pid, 'SIGKILL');
};

/** Wraps a dialect to count every statement, and every start and end of a transaction. */
function createCountedDialect(dialect: StoreDialect): StoreDialect {
  return {
    ...dialect,
    async open() {
      const innerDialect: Dialect = await dialect.open();
      return {
        createAdapter: () => innerDialect.createAdapter(),
        createIntrospector: (db) => innerDialect.createIntrospector(db),
        createQueryCompiler: () => innerDialect.createQueryCompiler(),
        createDriver: () => createCountedDriver(innerDialect.createDriver()),
      };
    },
  };
}

/** Wraps a driver. The start and the end of a transaction are statements of the connection, so they are counted too. */
function createCountedDriver(driver: Driver): Driver {
  const wrapped = new WeakSet<DatabaseConnection>();
  return {
    init: () => driver.init(),
    destroy: () => driver.destroy(),
    beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
    commitTransaction: (connection) => driver.commitTransaction(connection),
    rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
    releaseConnection: (connection) => driver.releaseConnection(connection),
    async acquireConnection() {
      const connection = await driver.acquireConnection();
      if (wrapped.has(connection)) return connection;
      wrapped.add(connection);
      const execute = connection.executeQuery.bind(connection);
      connection.executeQuery = (query) => {
        countStep();
        return execute(query);
      };
      return connection;
    },
  };
}

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const createItem = (id: string): Item => ({ id: `${name}_${id}`, json: JSON.stringify({ id: `${name}_${id}` }) });
const report = (what: object): void => void process.stdout.write(`${JSON.stringify(what)}\n`);

const store = await openStore({ dialect: createCountedDialect(createSqliteDialect({ file })) });
const conversations = createConversations({ store, clock: systemClock });
const responses = createResponses({ store, clock: systemClock });
isCounting = true;
const { id } = await conversations.create(OWNER, { items: [createItem('a1'), createItem('a2')], metadata: new Map() });
report({ created: id });
await conversations.addItems(OWNER, id, [createItem('b1'), createItem('b2')]);
report({ added: true });
const turn = await responses.startTurn(OWNER, { id: `resp_${name}`, conversation: id });
await turn.complete({
  json: '{}',
  input: [createItem('c1'), createItem('c2')],
  output: [createItem('d1'), createItem('d2')],
  isStored: true,
});
report({ completed: true });
report({ steps });
await store.close();
