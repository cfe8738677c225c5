// A program that serves chats, and nothing beside /health and what is below /v1, to who knows its key. Its words are the
// port, the name of the variable with the key, and what it is to repeat.
import { createServer } from 'node:http';

const [port, keyFrom, ...words] = process.argv.slice(2);
const key = process.env[keyFrom ?? ''];

const sent = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;

createServer((request, response) => {
  request.resume();
  if (request.url === '/health') return void response.end();
  if (!key || request.headers.authorization !== `Bearer ${key}`) return void response.writeHead(401).end();
  if (request.url === '/v1/models') return void response.end('{"data":[{"id":"program"}]}');
  if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
  const content = `I was told ${words.join(' ')}.`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(sent({ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }));
  response.end(sent({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }) + sent('[DONE]'));
}).listen(Number(port), '127.0.0.1');
