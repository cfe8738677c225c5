import type { ConversationsTable } from './conversations.ts';
import type { ItemsTable } from './items.ts';
import type { KeysTable } from './keys.ts';
import type { MigrationsTable } from './migrations.ts';
import type { ResponsesTable } from './responses.ts';

export interface Database {
  conversations: ConversationsTable;
  items: ItemsTable;
  keys: KeysTable;
  migrations: MigrationsTable;
  responses: ResponsesTable;
}
