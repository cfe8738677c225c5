"""client.deployments of dashscope.Client and AsyncClient of 2.x; started by deployments-python.test.ts."""

import asyncio

from cases import case, expect, expect_error, key, origin, run
from dashscope import AsyncClient, Client
from dashscope.v2 import errors

OPTIONS = {"base_url": origin() + "/api/v1", "api_key": key(), "max_retries": 0, "timeout": 60}
client = Client(**OPTIONS)


def expect_made(made, name):
    expect((made.deployed_model, made.model, made.base_model) == (name, "svc-plus", "svc-plus"), made)
    expect((made.base_capacity, made.capacity, made.ready_capacity) == (1, 1, 0), made)
    expect(made.status in ("PENDING", "RUNNING") and made.workspace_id == "primary", made)
    expect(made.created_at and made.updated_at and made.creator == made.modifier, made)
    expect(made.request_id and made.headers, made)


@case("creates, lists, gets, scales and deletes a deployment")
def whole_life():
    made = client.deployments.create(
        model="svc-plus", capacity=1, plan="mu", suffix="new1", deploy_spec={"type": "MU1"}, billing_method="POST_PAY"
    )
    expect_made(made, "svc-plus-new1")
    expect(made.headers["x-parley-ignored"] == "deploy_spec", made.headers)
    listed = client.deployments.list(page_no=1, page_size=200)
    expect(listed.total_count == len(listed.deployments) >= 1, listed)
    expect("svc-plus-new1" in [each.deployed_model for each in listed.deployments], listed)
    expect(client.deployments.get("svc-plus-new1").created_at == made.created_at)
    scaled = client.deployments.scale("svc-plus-new1", capacity=2)
    expect((scaled.status, scaled.capacity) == ("UPDATING", 2), scaled)
    expect(client.deployments.delete("svc-plus-new1").status == "DELETING")


@case("does the same asynchronously")
def asynchronously():
    async def life():
        other = AsyncClient(**OPTIONS)
        expect_made(await other.deployments.create(model="svc-plus", capacity=1, suffix="new2"), "svc-plus-new2")
        expect((await other.deployments.list()).total_count >= 1)
        scaled = await other.deployments.scale("svc-plus-new2", capacity=0)
        expect((scaled.status, scaled.capacity) == ("UPDATING", 0), scaled)
        expect((await other.deployments.delete("svc-plus-new2")).status == "DELETING")

    asyncio.run(life())


@case("streams the events of a deployment")
def follow():
    client.deployments.create(model="svc-plus", capacity=1, suffix="new3")
    stream = client.deployments.stream_events("svc-plus-new3")
    first = next(stream)
    stream.close()
    record = first.output["output"]
    expect(not first.is_error and record["deployed_model"] == "svc-plus-new3", first)
    expect(record["event"]["number"] >= 1, first)


@case("raises the error class of each failure")
def refusals():
    create = client.deployments.create
    expect_error(errors.NotFoundError, lambda: create(model="nothing", capacity=1))
    expect_error(errors.NotFoundError, lambda: client.deployments.get("none"))
    expect_error(errors.NotFoundError, lambda: next(client.deployments.stream_events("none")))
    expect_error(errors.BadRequestError, lambda: create(model="svc-plus", capacity=1000))
    create(model="svc-plus", capacity=1, suffix="new4")
    again = expect_error(errors.DashScopeError, lambda: create(model="svc-plus", capacity=1, suffix="new4"))
    expect(again.status_code == 409 and "already exists" in str(again), repr(again))


if __name__ == "__main__":
    run()
