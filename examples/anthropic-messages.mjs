// Streams a message with the Anthropic client.
import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({
  apiKey: null,
  authToken: process.env.PARLEY_KEY,
  baseURL: `${process.env.PARLEY_URL ?? 'http://127.0.0.1:8000'}/apps/anthropic`,
});
const stream = client.messages.stream({
  model: 'svc-plus',
  max_tokens: 24,
  messages: [{ role: 'user', content: 'Name a color.' }],
});
stream.on('text', (text) => process.stdout.write(text));
await stream.finalMessage();
console.log();
