import { ServiceError } from '../../../core/error.ts';
import type { Tasks } from '../../../resources/tasks/task.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { fieldsOf, pageOf, skippedBy } from '../page.ts';
import { encodeTask, encodeTaskList, encodeUnknownTask } from './encode.ts';
import { decodeTaskFilter, TaskListQuery, taskListTexts } from './schema.ts';

export interface TasksNeeds {
  readonly tasks: Tasks;
}

const shared = { family: 'native', regions: INTERFACES.tasks.regions, onDisconnect: 'cancel' } as const;

/** GET and POST /api/v1/tasks/{id} (wire.md E7.2, 10): a task that nobody knows is a 200 with status UNKNOWN. */
export function taskGet({ tasks }: TasksNeeds, method: 'GET' | 'POST' = 'GET'): Endpoint {
  return {
    ...shared,
    operation: 'tasks.get',
    method,
    path: '/api/v1/tasks/:id',
    async handle({ params }, { owner, requestId }) {
      const id = params['id'] ?? '';
      const task = await tasks.find(owner, id);
      return json(task ? encodeTask(task, requestId) : encodeUnknownTask(id, requestId));
    },
  };
}

/** GET /api/v1/tasks (wire.md 10). */
export function taskList({ tasks }: TasksNeeds): Endpoint {
  return {
    ...shared,
    operation: 'tasks.list',
    method: 'GET',
    path: '/api/v1/tasks',
    async handle({ query }, { owner, requestId }) {
      const { wire, unknown } = parseBody(TaskListQuery, fieldsOf(query), { texts: taskListTexts });
      const page = pageOf(wire);
      const filter = decodeTaskFilter(wire);
      const found = filter
        ? await tasks.list(owner, filter, { skip: skippedBy(page), take: page.size })
        : { total: 0, tasks: [] };
      return json(encodeTaskList(found, page, requestId), ignoredHeader(unknown));
    },
  };
}

/** POST /api/v1/tasks/{id}/cancel (wire.md 10): what is not pending, or not there, cannot be cancelled. */
export function taskCancel({ tasks }: TasksNeeds): Endpoint {
  return {
    ...shared,
    operation: 'tasks.cancel',
    method: 'POST',
    path: '/api/v1/tasks/:id/cancel',
    onDisconnect: 'finish',
    async handle({ params }, { owner, requestId }) {
      if (await tasks.cancel(owner, params['id'] ?? '')) return json({ request_id: requestId });
      throw new ServiceError(
        'unsupported',
        'Failed to cancel the task, please confirm if the task is in PENDING status.',
      );
    },
  };
}
