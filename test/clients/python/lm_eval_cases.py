"""Multiple choice with lm-eval, the evaluation harness; started by lm-eval.test.ts.

The reference is llama.cpp's own server on the same weights: it reports the most likely next tokens of a prompt, so the score of an
answer is the sum over one request per token. Environment: REFERENCE_ADDRESS.
"""

import datasets
import requests
from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, origin, run
from lm_eval.api.model import TemplateLM
from lm_eval.api.task import ConfigurableTask
from lm_eval.evaluator import evaluate
from lm_eval.models.openai_completions import LocalCompletionsAPI

QUESTIONS = [
    ("The capital of France is", ["Paris", "Berlin", "a small town"], 0),
    ("Two plus two equals", ["seven", "four"], 1),
    ("Grüße, 👍! The opposite of hot is", ["cold", "🦄", "dry"], 0),
    ("She opened the door and", ["left the room.", "green ideas"], 0),
]

# llama.cpp rounds activations to eight bits, so a score depends on the processor and on how many tokens are computed at once: with
# other sizes of `--ubatch-size` its own server moves by up to 0.1 for a token. Leaving out or shifting a token moves a score by more.
TOLERANCE = 0.25


class LlamaTokenizer:
    """The tokenizer of the weights. lm-eval would load it from a hub."""

    eot_token = 0

    def encode(self, text):
        body = {"content": text, "add_special": False}
        return requests.post(origin("REFERENCE_") + "/tokenize", json=body, timeout=REQUEST_S_MAX).json()["tokens"]


class ParleyModel(LocalCompletionsAPI):
    """The client as it is, except for its tokenizer."""

    def __init__(self, model="scored", **options):
        url = base_url() + "/completions"
        super().__init__(model=model, base_url=url, tokenizer_backend="None", max_retries=1, timeout=REQUEST_S_MAX, **options)
        self.tokenizer = LlamaTokenizer()
        self.tokenized_requests = True

    def tok_encode(self, string, **_):
        return self.tokenizer.encode(string)

    @property
    def api_key(self):
        return key()


class ReferenceModel(TemplateLM):
    eot_token_id = 0

    def tok_encode(self, string, **_):
        return LlamaTokenizer().encode(string)

    def _loglikelihood_tokens(self, requests, **_):
        return [self.score(context, continuation) for _, context, continuation in requests]

    def score(self, context, continuation):
        total, is_greedy = 0.0, True
        for index, token in enumerate(continuation):
            logprob, rank = self.score_next_token(context + continuation[:index], token)
            total += logprob
            is_greedy = is_greedy and rank == 0
        return total, is_greedy

    def score_next_token(self, prompt, token):
        # The whole vocabulary takes seconds, so that it is requested only for a token of a low rank.
        for count in (1_000, 50_000):
            body = {"prompt": prompt, "n_predict": 1, "n_probs": count, "temperature": 0, "cache_prompt": False}
            answer = requests.post(origin("REFERENCE_") + "/completion", json=body, timeout=REQUEST_S_MAX).json()
            for rank, entry in enumerate(answer["completion_probabilities"][0]["top_logprobs"]):
                if entry["id"] == token:
                    return entry["logprob"], rank
        raise AssertionError(f"the server reports no log probability of token {token}")

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError

    def generate_until(self, requests, **_):
        raise NotImplementedError


def create_task():
    documents = [{"text": text, "choices": choices, "answer": answer} for text, choices, answer in QUESTIONS]
    return ConfigurableTask(
        config={
            "task": "choices",
            "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list(documents)},
            "test_split": "test",
            "output_type": "multiple_choice",
            "doc_to_text": "{{text}}",
            "doc_to_choice": "{{choices}}",
            "doc_to_target": "{{answer}}",
            "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
        }
    )


def evaluate_choices(model):
    """Returns the metrics, and the scores of all answers as (log likelihood, is greedy)."""
    results = evaluate(lm=model, task_dict={"choices": create_task()}, bootstrap_iters=0)
    metrics = results["results"]["choices"]
    samples = sorted(results["samples"]["choices"], key=lambda sample: sample["doc_id"])
    scores = [tuple(answer) for sample in samples for answer in sample["filtered_resps"]]
    return {name: metrics[name + ",none"] for name in ("acc", "acc_norm")}, scores


def expect_reference_scores(actual):
    metrics, scores = actual
    expected_metrics, expected_scores = reference()
    expect(metrics == expected_metrics, metrics, expected_metrics)
    expect(len(scores) == sum(len(choices) for _, choices, _ in QUESTIONS), scores)
    for (score, is_greedy), (expected, is_expected_greedy) in zip(scores, expected_scores, strict=True):
        expect(abs(score - expected) < TOLERANCE and is_greedy == is_expected_greedy, scores, expected_scores)


def reference(known=[]):
    if not known:
        known.append(evaluate_choices(ReferenceModel()))
    return known[0]


@case("scores of llama.cpp's server differ between the answers")
def check_reference():
    metrics, scores = reference()
    expect(0 < metrics["acc"] and len({round(score, 2) for score, _ in scores}) == len(scores), metrics, scores)


@case("gets the same scores with one prompt per request")
def single():
    expect_reference_scores(evaluate_choices(ParleyModel()))


@case("gets the same scores with several prompts per request")
def batched():
    expect_reference_scores(evaluate_choices(ParleyModel(batch_size=4)))


@case("gets the same scores with several requests at once")
def concurrent():
    expect_reference_scores(evaluate_choices(ParleyModel(num_concurrent=3)))


@case("raises an error for a server that reports no log probabilities of the prompt")
def unsupported():
    error = expect_error(requests.HTTPError, lambda: evaluate_choices(ParleyModel(model="served")))
    message = error.response.json()["error"]["message"]
    expect(error.response.status_code == 400 and "llama-server" in message and "prompt" in message, message)


run()
