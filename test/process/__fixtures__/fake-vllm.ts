// A server with the command line and the list of models of vLLM. Every answer repeats the model of its request, the id of this process
// and the command line. Requests need the key of the environment, except on /health.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

const words = process.argv.slice(2);
const modulesAt = words.indexOf('--lora-modules');
const isModule = (word: string): boolean => word.startsWith('{');
const adapters = words.filter(isModule).map((word) => JSON.parse(word) as { readonly name: string });
const { values } = parseArgs({
  args: words.filter((word, at) => at !== modulesAt && !isModule(word)),
  options: { port: { type: 'string' }, 'served-model-name': { type: 'string' } },
  strict: false,
});
const base = values['served-model-name'];
const models = [
  { id: base, owned_by: 'vllm', max_model_len: 4_096, parent: null },
  ...adapters.map(({ name }) => ({ id: name, owned_by: 'vllm', max_model_len: null, parent: base })),
];

const encodeEvent = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;

createServer((request, response) => {
  void text(request).then((body) => {
    if (request.url === '/health') return void response.end();
    if (request.headers.authorization !== `Bearer ${process.env.VLLM_API_KEY}`) return void response.writeHead(401).end();
    if (request.url === '/v1/models') return void response.end(JSON.stringify({ data: models }));
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
    const { model } = JSON.parse(body) as { readonly model: string };
    if (!models.some(({ id }) => id === model)) return void response.writeHead(404).end();
    const content = JSON.stringify({ model, pid: process.pid, words });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(encodeEvent({ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }));
    response.end(encodeEvent({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }) + encodeEvent('[DONE]'));
  });
}).listen(Number(values.port), '127.0.0.1');
