// What Terraform needs for the resource types of a network, as the AWS provider makes, reads, changes and deletes them.
import { actions, type Need } from './need.ts'

const ec2 = (of: string, words: string, reason: string): Need => ({ of, actions: actions('ec2', words), reason })

export const NETWORK_TYPES: readonly Need[] = [
  ec2('data.aws_availability_zones', 'DescribeAvailabilityZones', 'chooses the zones of the subnets'),
  ec2('data.aws_subnets', 'DescribeSubnets', 'finds the subnets of an existing VPC by their tags'),
  ec2('data.aws_subnet', 'DescribeSubnets', 'reads the zone of a subnet'),
  ec2('data.aws_security_groups', 'DescribeSecurityGroups', 'finds the security group of the nodes by its tag'),
  ec2(
    'aws_vpc',
    `CreateVpc DeleteVpc DescribeVpcs DescribeVpcAttribute ModifyVpcAttribute CreateTags DeleteTags
     DescribeNetworkAcls DescribeRouteTables DescribeSecurityGroups`,
    'makes and deletes the VPC, switches DNS on, and reads the defaults that come with it',
  ),
  ec2(
    'aws_subnet',
    'CreateSubnet DeleteSubnet DescribeSubnets ModifySubnetAttribute DescribeNetworkInterfaces CreateTags DeleteTags',
    'makes and deletes subnets; before a deletion it looks for interfaces that hold one',
  ),
  ec2(
    'aws_internet_gateway',
    `CreateInternetGateway DeleteInternetGateway DescribeInternetGateways AttachInternetGateway DetachInternetGateway
     CreateTags DeleteTags`,
    'connects public subnets to the internet',
  ),
  ec2(
    'aws_eip',
    'AllocateAddress ReleaseAddress DescribeAddresses DescribeAddressesAttribute DisassociateAddress CreateTags DeleteTags',
    'gives each NAT gateway its address',
  ),
  ec2(
    'aws_nat_gateway',
    'CreateNatGateway DeleteNatGateway DescribeNatGateways CreateTags DeleteTags',
    'lets private nodes pull images and reach AWS',
  ),
  ec2(
    'aws_route_table',
    'CreateRouteTable DeleteRouteTable DescribeRouteTables CreateTags DeleteTags',
    'makes and deletes route tables',
  ),
  ec2(
    'aws_route_table_association',
    'AssociateRouteTable DisassociateRouteTable ReplaceRouteTableAssociation DescribeRouteTables',
    'gives each subnet its route table',
  ),
  ec2(
    'aws_route',
    'CreateRoute DeleteRoute ReplaceRoute DescribeRouteTables',
    'routes to the internet gateway and to NAT',
  ),
  ec2(
    'aws_default_security_group',
    'DescribeSecurityGroups RevokeSecurityGroupIngress RevokeSecurityGroupEgress CreateTags DeleteTags',
    "takes every rule off the VPC's default group",
  ),
  ec2(
    'aws_default_network_acl',
    `DescribeNetworkAcls CreateNetworkAclEntry DeleteNetworkAclEntry ReplaceNetworkAclAssociation DescribeSubnets
     CreateTags DeleteTags`,
    "writes the rules of the VPC's default network ACL",
  ),
  ec2(
    'aws_default_route_table',
    'DescribeRouteTables CreateRoute DeleteRoute CreateTags DeleteTags',
    "takes the VPC's main route table over, without routes",
  ),
  ec2(
    'aws_security_group',
    `CreateSecurityGroup DeleteSecurityGroup DescribeSecurityGroups DescribeNetworkInterfaces RevokeSecurityGroupIngress
     RevokeSecurityGroupEgress CreateTags DeleteTags`,
    'makes the groups of control plane and nodes, and takes the default rule off them',
  ),
  ec2(
    'aws_security_group_rule',
    `DescribeSecurityGroups DescribeSecurityGroupRules AuthorizeSecurityGroupIngress AuthorizeSecurityGroupEgress
     RevokeSecurityGroupIngress RevokeSecurityGroupEgress`,
    'lets control plane and nodes reach each other',
  ),
  ec2('aws_ec2_tag', 'CreateTags DeleteTags DescribeTags', 'tags the security group that EKS makes'),
]
