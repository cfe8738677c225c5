"""VocabularyService of the dashscope client; started by vocabularies.test.ts."""

import time

import dashscope
from cases import case, expect, expect_error, key, origin, run
from dashscope.audio.asr.vocabulary import VocabularyService, VocabularyServiceException

dashscope.base_http_api_url = origin() + "/api/v1"
dashscope.api_key = key()

WORDS = [{"text": "Okonkwo", "weight": 4, "lang": "en"}, {"text": "北京", "weight": 5}]
service = VocabularyService()


def get_error(call):
    return str(expect_error(VocabularyServiceException, call))


def create_later(**change):
    """Creates a vocabulary in a later millisecond than the last one. The order within a millisecond is undefined."""
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == now:
        pass
    return create(**change)


def create(**change):
    return service.create_vocabulary(**{"target_model": "paraformer-v2", "prefix": "test", "vocabulary": WORDS, **change})


@case("creates, lists, queries, updates and deletes a vocabulary")
def whole_life():
    vocabulary_id = create()
    expect(vocabulary_id.startswith("vocab-test-") and service.get_last_request_id(), vocabulary_id)
    (entry,) = service.list_vocabularies()
    expect((entry["vocabulary_id"], entry["status"]) == (vocabulary_id, "OK"), entry)
    expect(entry["gmt_create"] == entry["gmt_modified"] and len(entry["gmt_create"]) == 19, entry)
    record = service.query_vocabulary(vocabulary_id)
    expect((record["vocabulary"], record["target_model"], record["status"]) == (WORDS, "paraformer-v2", "OK"), record)
    expect(record["gmt_create"] == entry["gmt_create"], record)
    service.update_vocabulary(vocabulary_id, WORDS[1:])
    expect(service.query_vocabulary(vocabulary_id)["vocabulary"] == WORDS[1:])
    service.delete_vocabulary(vocabulary_id)
    expect(service.list_vocabularies() == [])
    for call in (service.query_vocabulary, service.delete_vocabulary):
        error = get_error(lambda: call(vocabulary_id))
        expect("Status Code: 400, Code: BadRequest.ResourceNotExist" in error, error)
        expect("The Required resource not exist." in error, error)


@case("lists its vocabularies in pages, newest first, and by prefix")
def pages():
    ids = [create_later(prefix=prefix) for prefix in ("one", "two", "one")][::-1]
    listed = [[entry["vocabulary_id"] for entry in service.list_vocabularies(page_index=page, page_size=2)] for page in range(3)]
    expect(listed == [ids[:2], ids[2:], []], listed, ids)
    listed = [entry["vocabulary_id"] for entry in service.list_vocabularies(prefix="one")]
    expect(listed == [ids[0], ids[2]], listed, ids)
    for vocabulary_id in ids:
        service.delete_vocabulary(vocabulary_id)


@case("gets status UNDEPLOYED while no engine serves the target model")
def undeployed():
    vocabulary_id = create(target_model="paraformer-realtime-v2")
    expect(service.query_vocabulary(vocabulary_id)["status"] == "UNDEPLOYED")
    service.delete_vocabulary(vocabulary_id)


@case("gets the invalid entry and its rule, and keeps the old entries")
def rules():
    vocabulary_id = create()
    for change, rule in (
        ({"text": "one two three four five six seven eight"}, "input.vocabulary[1].text must have at most 7 words"),
        ({"text": "北" * 16}, "input.vocabulary[1].text must have at most 15 characters"),
        ({"weight": 6}, "input.vocabulary[1].weight must be an integer from 1 to 5"),
        ({"lang": "es"}, "input.vocabulary[1].lang must be one of zh, en, ja, yue, ko, de, fr, ru"),
    ):
        error = get_error(lambda: service.update_vocabulary(vocabulary_id, [WORDS[0], {**WORDS[1], **change}]))
        expect("Status Code: 400, Code: InvalidParameter" in error and rule in error, error)
    expect(service.query_vocabulary(vocabulary_id)["vocabulary"] == WORDS)
    service.delete_vocabulary(vocabulary_id)
    for change in ({"vocabulary": []}, {"prefix": "Test"}, {"prefix": "elevenchars"}, {"target_model": "svc-plus"}):
        error = get_error(lambda: create(**change))
        expect("Status Code: 400, Code: InvalidParameter" in error and "input." in error, error)


@case("may have at most ten vocabularies")
def ten():
    ids = [create() for _ in range(10)]
    error = get_error(create)
    expect("Status Code: 400, Code: Throttling.AllocationQuota" in error, error)
    expect("Error Message: Free allocated quota exceeded." in error, error)
    for vocabulary_id in ids:
        service.delete_vocabulary(vocabulary_id)
    service.delete_vocabulary(create())


if __name__ == "__main__":
    run()
