# Makes AWS calls with botocore, one line of JSON each. Answers with what botocore read, the error code, and the fields of
# the raw answer that AWS's own model of the operation does not have.
import json, sys
import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

url, region = sys.argv[1:3]
session = botocore.session.get_session()
clients, unknown = {}, []


def compare(value, shape, path):
    if shape.type_name == "structure" and isinstance(value, dict):
        for key, inner in value.items():
            if key in shape.members:
                compare(inner, shape.members[key], f"{path}.{key}")
            else:
                unknown.append(f"{path}.{key}")
    elif shape.type_name == "list" and isinstance(value, list):
        for inner in value:
            compare(inner, shape.member, path + "[]")


def read(http_response, model, **_):
    if http_response.status_code == 200 and model.output_shape:
        compare(json.loads(http_response.content or b"{}"), model.output_shape, model.name)


def client(service):
    if service not in clients:
        made = session.create_client(
            service,
            region_name=region,
            endpoint_url=url,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=Config(retries={"total_max_attempts": 1}),
        )
        if made.meta.service_model.metadata["protocol"] in ("json", "rest-json"):
            made.meta.events.register("after-call", read)
        clients[service] = made
    return clients[service]


for line in sys.stdin:
    ask = json.loads(line)
    unknown.clear()
    try:
        made = client(ask["service"])
        if ask.get("pages"):
            pages = made.get_paginator(ask["operation"]).paginate(**ask["parameters"])
            answer = {"pages": [{k: v for k, v in page.items() if k != "ResponseMetadata"} for page in pages]}
        elif ask.get("waiter"):
            made.get_waiter(ask["operation"]).wait(**ask["parameters"], WaiterConfig={"Delay": 1, "MaxAttempts": 3})
            answer = {}
        else:
            answer = getattr(made, ask["operation"])(**ask["parameters"])
            answer.pop("ResponseMetadata", None)
    except ClientError as error:
        answer = {"error": error.response["Error"]["Code"], "status": error.response["ResponseMetadata"]["HTTPStatusCode"]}
    print(json.dumps({"answer": answer, "unknown": list(unknown)}, default=lambda value: value.isoformat()), flush=True)
