"""Deployments of the 1.x API of the dashscope client; started by deployments-python.test.ts."""

import dashscope
from cases import case, expect, key, origin, run
from dashscope import Deployments

dashscope.base_http_api_url = origin() + "/api/v1"
dashscope.api_key = key()

STATUSES_AFTER_CREATE = ("PENDING", "DEPLOYING", "RUNNING")
STATUSES_AFTER_SCALE = ("UPDATING", "RUNNING")


@case("creates, lists, gets, scales, limits and deletes a deployment")
def whole_life():
    made = Deployments.call(model="svc-plus", capacity=1, plan="mu", suffix="old1")
    expect(made.status_code == 200 and made.request_id, made)
    record = made.output
    expect((record.deployed_model, record.model_name, record.base_model) == ("svc-plus-old1", "svc-plus", "svc-plus"), made)
    expect((record.base_capacity, record.capacity, record.ready_capacity) == (1, 1, 0), made)
    expect(record.status in STATUSES_AFTER_CREATE and record.charge_type == "post_paid", made)
    expect(record.creator == record.modifier and record.gmt_create[10] == "T", made)

    listed = Deployments.list(page_no=1, page_size=10).output
    expect(listed.total >= 1 and listed.page_no == 1, listed)
    expect("svc-plus-old1" in [each.deployed_model for each in listed.deployments], listed)
    expect(Deployments.get("svc-plus-old1").output.gmt_create == record.gmt_create)

    scaled = Deployments.scale("svc-plus-old1", 2).output
    expect(scaled.status == "UPDATING" and scaled.capacity == 2, scaled)

    for path in ("/update", ""):
        limited = Deployments.put("svc-plus-old1", {"rpm_limit": 60}, path="deployments/svc-plus-old1" + path)
        expect(limited.status_code == 200 and limited.output["rpm_limit"] == 60, limited)

    deleted = Deployments.delete("svc-plus-old1")
    expect(deleted.status_code == 200 and deleted.output.status == "DELETING", deleted)


@case("streams the events of a deployment")
def follow():
    Deployments.call(model="svc-plus", capacity=1, suffix="old2")
    received = []
    for event in Deployments.stream_events("svc-plus-old2"):
        expect(event.status_code == 200, event)
        received.append(event.output)
        break
    expect('"deployed_model":"svc-plus-old2"' in received[0], received)


@case("gets errors with the prescribed texts")
def refusals():
    unknown = Deployments.call(model="nothing", capacity=1)
    expect((unknown.status_code, unknown.code, unknown.message) == (404, "NotFound", "Model: nothing not found!"), unknown)
    Deployments.call(model="svc-plus", capacity=1, suffix="old3")
    conflict = Deployments.call(model="svc-plus", capacity=1, suffix="old3")
    expect((conflict.status_code, conflict.code) == (409, "Conflict"), conflict)
    expect(conflict.message == "Deployed model svc-plus-old3 already exists, please specify a suffix.", conflict)
    too_large = Deployments.scale("svc-plus-old3", 1000)
    expect((too_large.status_code, too_large.code) == (400, "InvalidParameter"), too_large)
    expect(too_large.message.startswith("Invalid capacity (1000), capacity must be larger than or equal to 0"), too_large)
    for call in (Deployments.get, Deployments.delete):
        missing = call("none")
        expect((missing.status_code, missing.code, missing.message) == (404, "NotFound", "Model: none not found!"), missing)
    page = Deployments.list(page_size=201)
    expect((page.status_code, page.code) == (400, "InvalidParameter"), page)


if __name__ == "__main__":
    run()
